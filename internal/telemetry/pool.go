package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PoolStat is what a pool of database connections tells about itself, as pgxpool.Stat does.
type PoolStat interface {
	// AcquiredConns are the connections in use, and IdleConns the ones at rest.
	AcquiredConns() int32
	IdleConns() int32
	// MaxConns is the most connections that the pool may have.
	MaxConns() int32
	// EmptyAcquireCount counts how often somebody had to wait, because there was no connection at rest.
	EmptyAcquireCount() int64
	// EmptyAcquireWaitTime is how long they have waited in all.
	EmptyAcquireWaitTime() time.Duration
}

// WatchPool adds the use of a pool, which is asked at each scrape. Call it once.
func (m *Metrics) WatchPool(stat func() PoolStat) {
	m.registry.MustRegister(poolCollector{
		stat:        stat,
		connections: describe("fencepost_pool_connections", "Database connections by what they do.", "state"),
		most:        describe("fencepost_pool_max_connections", "Most database connections that the pool may have."),
		waits:       describe("fencepost_pool_waits_total", "How often somebody had to wait for a database connection."),
		waited:      describe("fencepost_pool_wait_seconds_total", "Time spent waiting for database connections."),
	})
}

// poolCollector asks the pool when it is asked itself.
type poolCollector struct {
	stat                             func() PoolStat
	connections, most, waits, waited *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c poolCollector) Describe(all chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, all) }

// Collect implements [prometheus.Collector].
func (c poolCollector) Collect(all chan<- prometheus.Metric) {
	s := c.stat()
	all <- gauge(c.connections, float64(s.AcquiredConns()), "acquired")
	all <- gauge(c.connections, float64(s.IdleConns()), "idle")
	all <- gauge(c.most, float64(s.MaxConns()))
	all <- count(c.waits, float64(s.EmptyAcquireCount()))
	all <- count(c.waited, s.EmptyAcquireWaitTime().Seconds())
}
