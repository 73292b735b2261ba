package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func complete(t *testing.T, e env, args ...string) []string {
	t.Helper()
	o := invoke(t, e, nil, append([]string{"__complete", "job"}, args...)...)
	require.Equal(t, 0, o.code, o.stderr)
	return strings.Split(strings.TrimSpace(o.stdout), "\n")
}

const (
	noFiles = ":4"
	files   = ":0"
)

func TestShellOffersTheJobsThatACommandIsFor(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	file := ordersFile(t)
	cancelled := p.id(t, "submit", file)
	p.prints(t, "cancel", cancelled)
	pending := p.id(t, "submit", file)

	require.Equal(t, []string{pending + "\tPENDING", cancelled + "\tCANCELLED", noFiles}, complete(t, p.env(), "get", ""))
	require.Equal(t, []string{pending + "\tPENDING", noFiles}, complete(t, p.env(), "cancel", ""))
	require.Equal(t, []string{cancelled + "\tCANCELLED", noFiles}, complete(t, p.env(), "replay", ""))
	require.Equal(t, []string{files}, complete(t, p.env(), "replay", cancelled, ""))
	require.Equal(t, []string{"table", "json", "mermaid", "jsonld", noFiles}, complete(t, nil, "lineage", "--output", ""))
	require.Contains(t, complete(t, nil, "list", "--status", ""), "RUNNING")
}

func TestShellOffersNothingWhenItCannotAsk(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{noFiles}, complete(t, nil, "get", ""))
	require.Equal(t, []string{noFiles}, complete(t, env{"FENCEPOST_TIMEOUT": "soon"}, "get", ""))
}
