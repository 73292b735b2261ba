package systemtest

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// use is what a server holds at one moment.
type use struct{ goroutines, connections int }

// inUse measures a server that has come to rest.
func (v victim) inUse(t *testing.T) use {
	t.Helper()
	goroutines, err := strconv.Atoi((&process{Admin: v.p.Admin}).Counted(t, "go_goroutines"))
	require.NoError(t, err)
	return use{goroutines, v.proxy.Open()}
}

// outage cuts all connections, has a request refused, and the next one answered.
func (v victim) outage(t *testing.T) {
	t.Helper()
	v.proxy.Down()
	require.Equal(t, http.StatusServiceUnavailable, call(t, http.MethodGet, v.p.API+"/api/etl/jobs", "").Status)
	v.proxy.Up()
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, v.p.API+"/api/etl/jobs", "").Status)
}

func TestThousandOutagesLeakNoGoroutineAndNoConnection(t *testing.T) {
	t.Parallel()
	v := startVictim(t, pgtest.URL(t))
	v.outage(t)
	const listeningAndOneIdle = 2
	require.Eventually(t, func() bool { return v.proxy.Open() >= listeningAndOneIdle }, patience, 10*time.Millisecond)
	before := v.inUse(t)
	for range 1000 {
		v.outage(t)
	}
	const few = 5 // a connection more may be idle, of which there are never more than the pool has
	pgtest.Eventually(t, "as few goroutines and connections as before", func() bool {
		after := v.inUse(t)
		return after.connections <= before.connections+few && after.goroutines <= before.goroutines+few
	})
	t.Logf("before 1,000 outages: %+v, after: %+v", before, v.inUse(t))
}
