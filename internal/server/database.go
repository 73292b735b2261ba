package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/check"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/schema"
	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
)

// readyTimeout makes a database that hangs one that cannot be used, before whoever asks has lost patience.
const readyTimeout = 3 * time.Second

// backend is the database as "serve" and "work" use it.
type backend struct {
	pool  *pgxpool.Pool
	store *postgres.Store
	// jobs is what requests use: the store, with a replica for its lists and lineages if there is one.
	jobs    job.Store
	feed    *feed.Hub
	outages *outages
	// sockets counts the open WebSockets.
	sockets *feed.Quota
	// worker runs jobs; nil where this process runs none.
	worker *worker.Worker
}

// openBackend refuses a database on which jobs would fail one after the other. What it and its connections do is in the metrics. A load of
// the operator's own has a connection for each worker beside those of the pool. The limits are those of what clients may follow.
func (p *Process) openBackend(
	ctx context.Context, d Database, workers int, streams feed.Limits, metrics *telemetry.Metrics, log *slog.Logger,
) (*backend, error) {
	config, err := d.storeConfig()
	if err != nil {
		return nil, err
	}
	pool, loads, err := p.openPools(ctx, d, workers)
	if err != nil {
		return nil, err
	}
	config.Loads = loads
	if err := check.FirstFailure(check.Run(ctx, check.Config{
		Pool: pool, Listen: config.Listen, Load: config.Load, LoadMayWait: d.private,
	})); err != nil {
		return nil, err
	}
	told := newOutages(log)
	config.Unavailable = told.unavailable
	store := postgres.NewStore(pool, config)
	p.atClose(store.Close)
	if loads != nil {
		p.atHangup("load", store.Prepare)
	}
	b := &backend{
		pool:    pool,
		store:   store,
		jobs:    store,
		feed:    feed.New(feed.Config{Limits: streams}),
		sockets: feed.NewQuota(streams),
		outages: told,
	}
	metrics.WatchPool(func() telemetry.PoolStat { return pool.Stat() })
	metrics.WatchBacklog(store.Backlog)
	return b, nil
}

// openPools opens the connections of requests and jobs and, for loads of the operator's own, one for each worker.
func (p *Process) openPools(ctx context.Context, d Database, workers int) (pool, loads *pgxpool.Pool, err error) {
	if pool, err = db.Open(ctx, d.URL, d.PoolSize); err == nil && d.LoadSQLFile != "" && workers > 0 {
		loads, err = db.OpenLoads(ctx, d.URL, workers)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--database-url: %w", err)
	}
	p.atClose(pool.Close)
	if loads != nil {
		p.atClose(loads.Close)
	}
	return pool, loads, nil
}

// streams is how many subscriptions and WebSockets are open.
func (b *backend) streams() int { return b.feed.Followed() + b.sockets.Taken() }

// ready reports whether the database can be used now, for reading and writing.
func (b *backend) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := schema.Ready(ctx, b.pool)
	b.outages.unready(err)
	return err
}

// workReady reports whether jobs can be run now: the database can be written, their load is open, and the last claim was answered.
func (b *backend) workReady(ctx context.Context) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return b.worker.Ready()
}

// employ makes the worker, where there are any.
func (b *backend) employ(cfg worker.Config, metrics *telemetry.Metrics, log *slog.Logger) {
	if cfg.Workers > 0 {
		b.worker = worker.New(b.store, cfg, metrics, log)
	}
}

// work runs jobs until ctx ends, and drains. One listener hears of cancellations until the last job has ended, and feeds
// whoever follows a job.
func (b *backend) work(ctx context.Context) error {
	if b.worker == nil {
		b.store.Listen(ctx, b.feed.Notify)
		return nil
	}
	w := b.worker
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	var listener sync.WaitGroup
	listener.Go(func() {
		b.store.Listen(listening, func(n worker.Notice) {
			w.Notify(n)
			b.feed.Notify(n)
		})
	})
	err := w.Run(ctx)
	stop()
	listener.Wait()
	return err
}

// Examine makes the checks of a start, without one.
func Examine(ctx context.Context, d Database) ([]check.Result, error) {
	config, err := d.storeConfig()
	if err != nil {
		return nil, err
	}
	pool, err := db.Open(ctx, d.URL, d.PoolSize)
	if err != nil {
		return nil, fmt.Errorf("--database-url: %w", err)
	}
	defer pool.Close()
	return check.Run(ctx, check.Config{Pool: pool, Listen: config.Listen, Load: config.Load}), nil
}
