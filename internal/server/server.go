package server

import (
	"context"
	"errors"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"fencepost/internal/feed"
)

// Process is an open server or worker. It answers nobody and runs nothing before [Process.Run].
type Process struct {
	// Welcome is what a person needs to know in order to use the process.
	Welcome Welcome

	parts   []func(context.Context) error
	stop    context.CancelFunc // ends what goes on for longer than one request
	closers []func() error

	hangups   chan os.Signal
	reloaders []reloader
}

// Welcome says where a process is reached and what it has made. A worker has no more than its admin URL.
type Welcome struct {
	// PublicURL leads to REST, GraphQL and the pages, AdminURL to metrics and profiles.
	PublicURL, AdminURL string
	// UsersFile is the htpasswd file of the users.
	UsersFile string
	// DataDir is where a private PostgreSQL keeps its data; empty if there is none.
	DataDir string
	// User and Password are those of the first user, when this start has made it. They are told here and nowhere else.
	User, Password string
}

// OpenServer opens all that a server needs: its database, its listeners, its users. Give it back with [Process.Close].
func OpenServer(ctx context.Context, c Config) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := newProcess(stop, c.Runtime.Log)
	if err := p.openServer(ctx, running, c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// OpenWorker opens all that a worker needs. Give it back with [Process.Close].
func OpenWorker(ctx context.Context, c WorkerConfig) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := newProcess(func() {}, c.Runtime.Log)
	if err := p.openWorker(ctx, c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Run works until ctx ends and everything that has begun is finished, for at most the drain timeout, or until a part of the
// process fails. It is called once.
func (p *Process) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, p.stop)()
	for _, part := range p.parts {
		parts.Go(func() error { return part(ctx) })
	}
	return parts.Wait()
}

// Close gives back all that the process has opened. Of a process that has run, it is the end.
func (p *Process) Close() error {
	p.stop()
	var errs []error
	for _, closeOne := range slices.Backward(p.closers) {
		errs = append(errs, closeOne())
	}
	return errors.Join(errs...)
}

// atClose has something done at the end, before what was opened earlier is closed.
func (p *Process) atClose(do func()) {
	p.closers = append(p.closers, func() error { do(); return nil })
}

// openServer opens the parts of a server. Streams end, and it is no longer ready, when running ends.
func (p *Process) openServer(ctx, running context.Context, c Config) error {
	bound := collectRarely(c.Runtime.LookupEnv, c.Limits.MaxPayloadBytes)
	s, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, s.stop)
	c.Database.URL, c.Database.private = s.databaseURL, s.dataDir != ""
	metrics, err := p.startTelemetry(ctx, c.Runtime, routes()...)
	if err != nil {
		return err
	}
	b, err := p.openBackend(ctx, c.Database, c.Worker.Workers, c.Streams, metrics, c.Runtime.Log)
	if err != nil {
		return err
	}
	if err := p.useReplica(ctx, b, c, metrics); err != nil {
		return err
	}
	handler, err := newHandler(running, c, b, s.usersFile, metrics)
	if err != nil {
		return err
	}
	public, err := p.openPublicDoor(ctx, c.Public, handler)
	if err != nil {
		return err
	}
	p.atClose(public.close)
	p.add(func(ctx context.Context) error { return public.serve(ctx, c.Worker.DrainTimeout) })
	if err := p.openAdmin(ctx, c.Admin, c.Worker.DrainTimeout, metrics, b.ready); err != nil {
		return err
	}
	b.employ(c.Worker, metrics, c.Runtime.Log)
	p.add(b.work)
	p.add(s.watch)
	p.add(func(ctx context.Context) error { bound.follow(ctx, b.streams); return nil })
	p.Welcome = Welcome{public.url(), p.Welcome.AdminURL, s.usersFile, s.dataDir, s.user, s.password}
	return nil
}

func (p *Process) openWorker(ctx context.Context, c WorkerConfig) error {
	metrics, err := p.startTelemetry(ctx, c.Runtime)
	if err != nil {
		return err
	}
	b, err := p.openBackend(ctx, c.Database, c.Worker.Workers, feed.Limits{}, metrics, c.Runtime.Log)
	if err != nil {
		return err
	}
	b.employ(c.Worker, metrics, c.Runtime.Log)
	if err := p.openAdmin(ctx, c.Admin, c.Worker.DrainTimeout, metrics, b.workReady); err != nil {
		return err
	}
	p.add(b.work)
	return nil
}

// add has something run until its context ends, or fails.
func (p *Process) add(part func(context.Context) error) { p.parts = append(p.parts, part) }
