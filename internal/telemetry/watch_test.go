package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"fencepost/internal/worker"
)

// fixedPool is a pool that never changes.
type fixedPool struct{}

func (fixedPool) AcquiredConns() int32                { return 3 }
func (fixedPool) IdleConns() int32                    { return 2 }
func (fixedPool) MaxConns() int32                     { return 20 }
func (fixedPool) EmptyAcquireCount() int64            { return 7 }
func (fixedPool) EmptyAcquireWaitTime() time.Duration { return 1500 * time.Millisecond }

// watch adds everything that is asked for at each scrape.
func watch(m *Metrics) {
	m.WatchPool(func() PoolStat { return fixedPool{} })
	m.WatchBacklog(func(context.Context) (worker.Backlog, error) { return worker.Backlog{}, nil })
}

func TestPoolIsAskedAtEachScrape(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	watch(m)
	require.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader(`
		# HELP fencepost_pool_connections Database connections by what they do.
		# TYPE fencepost_pool_connections gauge
		fencepost_pool_connections{state="acquired"} 3
		fencepost_pool_connections{state="idle"} 2
		# HELP fencepost_pool_max_connections Most database connections that the pool may have.
		# TYPE fencepost_pool_max_connections gauge
		fencepost_pool_max_connections 20
		# HELP fencepost_pool_wait_seconds_total Time spent waiting for database connections.
		# TYPE fencepost_pool_wait_seconds_total counter
		fencepost_pool_wait_seconds_total 1.5
		# HELP fencepost_pool_waits_total How often somebody had to wait for a database connection.
		# TYPE fencepost_pool_waits_total counter
		fencepost_pool_waits_total 7
	`), "fencepost_pool_connections", "fencepost_pool_max_connections", "fencepost_pool_wait_seconds_total", "fencepost_pool_waits_total"))
}

func backlogOf(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			name := f.GetName()
			for _, l := range metric.GetLabel() {
				name += " " + l.GetValue()
			}
			switch f.GetName() {
			case "fencepost_database_up", "fencepost_jobs", "fencepost_expired_leases", "fencepost_oldest_pending_age_seconds":
				values[name] = metric.GetGauge().GetValue()
			}
		}
	}
	return values
}

func TestBacklogIsReadAtMostEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, readings := NewMetrics(), 0
		m.WatchBacklog(func(context.Context) (worker.Backlog, error) {
			readings++
			return worker.Backlog{Pending: readings, Running: 20, Expired: 3, OldestDue: time.Minute}, nil
		})
		require.Zero(t, readings)
		want := map[string]float64{
			"fencepost_database_up": 1, "fencepost_jobs PENDING": 1, "fencepost_jobs RUNNING": 20,
			"fencepost_expired_leases": 3, "fencepost_oldest_pending_age_seconds": 60,
		}
		require.Equal(t, want, backlogOf(t, m))
		advance(backlogAge - 1)
		require.Equal(t, want, backlogOf(t, m))
		advance(1)
		want["fencepost_jobs PENDING"] = 2
		require.Equal(t, want, backlogOf(t, m))
	})
}

// advance moves the time of a synctest bubble.
func advance(d time.Duration) { <-time.After(d) }

func TestBacklogThatCannotBeReadIsAbsentAndGivenUpSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		m.WatchBacklog(func(ctx context.Context) (worker.Backlog, error) {
			deadline, bounded := ctx.Deadline()
			require.True(t, bounded)
			require.Equal(t, backlogTimeout, time.Until(deadline))
			return worker.Backlog{Pending: 1}, errors.New("no database")
		})
		require.Equal(t, map[string]float64{"fencepost_database_up": 0}, backlogOf(t, m))
	})
}

func TestReplicaReadsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	count := m.CountReplicaReads("served", "late")
	count("served")
	require.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader(`
		# HELP fencepost_replica_reads_total Reads that may go to the replica by how they went; all but the served ones went to the primary.
		# TYPE fencepost_replica_reads_total counter
		fencepost_replica_reads_total{outcome="late"} 0
		fencepost_replica_reads_total{outcome="served"} 1
	`), "fencepost_replica_reads_total"))
}
