package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/pgtest"
	"fencepost/internal/telemetry"
)

func TestServerIsNotReadyFromTheStopOn(t *testing.T) {
	t.Parallel()
	c := Defaults()
	c.Database.URL = pgtest.URL(t)
	c.Runtime.Log = slog.New(slog.DiscardHandler)
	metrics := telemetry.NewMetrics()
	var p Process
	b, err := p.openBackend(t.Context(), c.Database, c.Worker.Workers, feed.Limits{}, metrics, c.Runtime.Log)
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	p.stop = stop
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, auth.Add(users, "ann", "a password of ann"))
	handler, err := newHandler(running, c, b, users, metrics)
	require.NoError(t, err)

	require.Equal(t, http.StatusOK, probe(handler, "/readyz"))
	stop()
	require.Equal(t, http.StatusServiceUnavailable, probe(handler, "/readyz"))
	require.Equal(t, http.StatusOK, probe(handler, "/livez"))
}

func probe(handler http.Handler, path string) int {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code
}

func TestDoorTellsThatItsListenerBroke(t *testing.T) {
	t.Parallel()
	d, err := openDoor(context.Background(), "--listen", "127.0.0.1:0", nil, http.NotFoundHandler())
	require.NoError(t, err)
	d.close()
	require.ErrorIs(t, d.serve(context.Background(), time.Second), net.ErrClosed)
}

// environment has the variables that are in it.
type environment map[string]string

func (e environment) lookup(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

func TestDefaultDataDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid  int
		env  environment
		want string
	}{
		{0, environment{"HOME": "/root", "XDG_DATA_HOME": "/root/data"}, "/var/lib/fencepost"},
		{1000, environment{"HOME": "/home/ann", "XDG_DATA_HOME": "/data/ann"}, "/data/ann/fencepost"},
		{1000, environment{"HOME": "/home/ann", "XDG_DATA_HOME": "relative"}, "/home/ann/.local/share/fencepost"},
		{1000, environment{"HOME": "/home/ann"}, "/home/ann/.local/share/fencepost"},
	} {
		dir, err := defaultDataDirectory(c.uid, c.env.lookup)
		require.NoError(t, err)
		require.Equal(t, c.want, dir)
	}
	_, err := dataDirectory("", 1000, environment{}.lookup)
	require.ErrorContains(t, err, "--data-dir")
}

func TestDataDirectoryIsClosedToOthersUnlessPostgreSQLRunsAsAnother(t *testing.T) {
	t.Parallel()
	for uid, want := range map[int]os.FileMode{1000: 0o700, 0: 0o711} {
		dir, err := dataDirectory(filepath.Join(t.TempDir(), "data"), uid, environment{}.lookup)
		require.NoError(t, err)
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm())
	}
}

func TestLoopbackOrTLSOrAFlagIsEnoughToListen(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.8.8.8:0"} {
		require.NoError(t, Public{Address: address}.check(false), address)
		require.NoError(t, Admin{Address: address}.check(), address)
	}
	require.NoError(t, Public{Address: ":0"}.check(true))
	require.NoError(t, Admin{Address: ":0", AllowPlaintext: true}.check())
	require.NoError(t, Public{Address: ":0", CertFile: "c", KeyFile: "k"}.check(false))
}
