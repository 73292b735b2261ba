package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestHealthIsThatOfTheProcessAsked(t *testing.T) {
	t.Parallel()
	p := serve(t, pgtest.URL(t), "--workers=0")
	for _, url := range []string{p.api + "/readyz", p.api + "/livez", p.admin + "/livez"} {
		o := invoke(t, nil, nil, "health", url)
		require.Equal(t, outcome{}, o, url)
	}
	require.Contains(t, refused(t, "health", p.api+"/api/etl/jobs"), "not healthy: the answer is 401")
	p.end()
	require.Contains(t, refused(t, "health", p.api+"/readyz"), "not healthy")
}

func TestHealthOfWhatIsNoURL(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "health", ":"), "missing protocol scheme")
}
