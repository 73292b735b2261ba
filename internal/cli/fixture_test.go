package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is the environment of a command under test; nothing of the real one is visible to it.
type env map[string]string

func (e env) lookup(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

type outcome struct {
	code           int
	stdout, stderr string
}

// run runs one command line to its end.
func run(ctx context.Context, sh command.Shell, args []string) int {
	root := &cobra.Command{Use: "fencepost"}
	root.AddCommand(NewCommand(sh))
	return command.Run(ctx, sh, root, ExitCode, args)
}

func invoke(t *testing.T, e env, stdin io.Reader, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), command.Shell{Stdin: stdin, Stdout: &stdout, Stderr: &stderr, LookupEnv: e.lookup}, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// site is a server that commands are sent to.
type site struct{ api string }

func serve(t *testing.T, url string, changes ...func(*server.Config)) *site {
	t.Helper()
	return &site{servertest.Serve(t, url, changes...).API}
}

// serveGated is a server whose one job has come to a gate in its load.
func serveGated(t *testing.T, url string) (p *site, g *pgtest.Gate, id string) {
	t.Helper()
	g = pgtest.NewGate(t, url)
	p = serve(t, url, servertest.Loading(g.LoadFile))
	id = p.id(t, "submit", ordersFile(t))
	g.RequireWaiting(t)
	return p, g, id
}

const orders = `[{"id":"order-1"},{"id":"order-2"}]`

// env is the environment of a user of the server.
func (p *site) env() env {
	return env{"FENCEPOST_SERVER": p.api, "FENCEPOST_USER": servertest.Name, "FENCEPOST_PASSWORD": servertest.Password}
}

// job runs "job" against the server.
func (p *site) job(t *testing.T, args ...string) outcome {
	t.Helper()
	return invoke(t, p.env(), nil, append([]string{"job"}, args...)...)
}

// prints runs "job", which must succeed, and returns what it prints.
func (p *site) prints(t *testing.T, args ...string) string {
	t.Helper()
	o := p.job(t, args...)
	require.Equal(t, 0, o.code, o.stderr)
	return o.stdout
}

// id runs "job" and returns the one id that it prints.
func (p *site) id(t *testing.T, args ...string) string {
	t.Helper()
	printed := p.prints(t, append(args, "--output", "id")...)
	id, err := uuid.Parse(strings.TrimSuffix(printed, "\n"))
	require.NoError(t, err)
	require.Equal(t, id.String()+"\n", printed)
	return id.String()
}

// ordersFile is a file with the orders.
func ordersFile(t *testing.T) string {
	t.Helper()
	return servertest.File(t, "orders.json", orders, 0o600)
}

func parse[T any](t *testing.T, text string) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

func parseJob(t *testing.T, text string) client.Job {
	t.Helper()
	return parse[client.Job](t, text)
}
