package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// The database is asked for its backlog no more often than this, however many scrape, and not for longer.
const (
	backlogAge     = 10 * time.Second
	backlogTimeout = 2 * time.Second
)

// WatchBacklog adds what there is to do for all workers together. It is read while a scrape waits, at most every ten
// seconds. While it can't be read, only fencepost_database_up is there, and 0. Call it once.
func (m *Metrics) WatchBacklog(read func(context.Context) (worker.Backlog, error)) {
	m.registry.MustRegister(&backlogCollector{
		read: read,
		up:   describe("fencepost_database_up", "Whether the backlog could be read from the database."),
		jobs: describe("fencepost_jobs", "Active jobs of all processes by status, counted up to 10000.", "status"),
		expired: describe("fencepost_expired_leases",
			"Running jobs whose lease has ended, and which wait for another worker; counted up to 10000."),
		oldest: describe("fencepost_oldest_pending_age_seconds",
			"How long the pending job that is due for longest has been waiting."),
	})
}

// backlogCollector remembers the latest backlog for a while.
type backlogCollector struct {
	read                      func(context.Context) (worker.Backlog, error)
	up, jobs, expired, oldest *prometheus.Desc

	mu      sync.Mutex
	backlog worker.Backlog
	err     error
	readAt  time.Time
}

// Describe implements [prometheus.Collector].
func (c *backlogCollector) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.jobs, c.expired, c.oldest} {
		all <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *backlogCollector) Collect(all chan<- prometheus.Metric) {
	b, err := c.latest()
	if err != nil {
		all <- gauge(c.up, 0)
		return
	}
	all <- gauge(c.up, 1)
	all <- gauge(c.jobs, float64(b.Pending), string(job.StatusPending))
	all <- gauge(c.jobs, float64(b.Running), string(job.StatusRunning))
	all <- gauge(c.expired, float64(b.Expired))
	all <- gauge(c.oldest, b.OldestDue.Seconds())
}

// latest reads the backlog, unless that was done just now. Scrapes at the same time share one reading.
func (c *backlogCollector) latest() (worker.Backlog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.readAt) >= backlogAge {
		ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
		defer cancel()
		c.backlog, c.err = c.read(ctx)
		c.readAt = time.Now()
	}
	return c.backlog, c.err
}
