package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func TestHealthIsThatOfTheProcessAsked(t *testing.T) {
	t.Parallel()
	p := servertest.Serve(t, pgtest.URL(t), servertest.WithoutWorkers)
	for _, url := range []string{p.API + "/readyz", p.API + "/livez", p.Admin + "/livez"} {
		o := invoke(t, nil, nil, "health", url)
		require.Equal(t, outcome{}, o, url)
	}
	require.Contains(t, refused(t, "health", p.API+"/api/etl/jobs"), "not healthy: the answer is 401")
	require.NoError(t, p.End())
	require.Contains(t, refused(t, "health", p.API+"/readyz"), "not healthy")
}

func TestHealthOfWhatIsNoURL(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "health", ":"), "missing protocol scheme")
}
