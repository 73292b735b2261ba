// Package operation says what is measured: one file an operation, with its targets and goals.
package operation

import (
	"context"
	"errors"
	"slices"

	"fencepost/bench/internal/cluster"
	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
)

// Profile says how large and how long a run is.
type Profile struct {
	Name string
	// Sizes are the numbers of rows to measure growth at, from the smallest to the largest. Without any, only what the profile asks
	// for by itself is measured.
	Sizes []int64
	// Main is the one of them that operations are compared at.
	Main int64
	// Reads, Writes and Workers are the plans of comparisons: a read's block has a duration, a write's a number of operations, and
	// a worker's a number of jobs, without a warm-up.
	Reads, Writes, Workers compare.Plan
	// Timed is how many operations a measured time is taken from.
	Timed int64
	// Plots asks for the curves of growth, and Traced for the cost of traces.
	Plots, Traced bool
	// Cliffs are the extremes; when they are zero, nobody looks for cliffs.
	Cliffs Cliffs
}

// Cliffs says how far things go where a rate could break off.
type Cliffs struct {
	// OwnerJobs is how many jobs one owner has, a multiple of 10,000.
	OwnerJobs int64
	// Backlog is how many jobs are pending, and Expired how many have a lease that has expired.
	Backlog, Expired int64
	// Flood is how many pending jobs of one owner the jobs of another have to pass by; there are Probes of those.
	Flood, Probes int64
	// Streams is how many subscriptions are open.
	Streams int64
	// Lives is how many jobs a table sees from their submission to their end.
	Lives int64
}

// Options are what a person may try.
type Options struct {
	// ServeFlags and WorkFlags are added to the command lines of Fencepost.
	ServeFlags, WorkFlags []string
	// Peers asks for River and PostGraphile.
	Peers bool
}

// Env is what operations run in.
type Env struct {
	Profile
	Options

	Cluster   *cluster.Cluster
	Fencepost *process.Fencepost
	// Old is another version that takes turns with Fencepost; nil without one.
	Old *process.Fencepost

	databases    map[int64]*Database
	measured     int    // how many times and sizes were
	postGraphile string // where the peer serves the main database; empty until it is asked for
	closers      []func() error
}

// Database is a seeded database with a server on it.
type Database struct {
	Name, URL string
	Rows      int64
	Server    *process.Server
	Fuel      *seed.Fuel

	old *process.Server // the old version's, once somebody has asked for it
}

// Operation measures one thing.
type Operation interface {
	// Title is what the report calls it.
	Title() string

	// Measure takes as long as the profile says.
	Measure(ctx context.Context, e *Env) (compare.Result, error)
}

// others is the number of owners that are no users, in a seeded database.
const others = 10_000

// Database returns the database with a number of rows. The first call seeds it and starts its server.
func (e *Env) Database(ctx context.Context, rows int64) (*Database, error) {
	if db, found := e.databases[rows]; found {
		return db, nil
	}
	db, err := e.Seed(ctx, "jobs_"+name(rows), rows, others)
	if err == nil {
		if e.databases == nil {
			e.databases = map[int64]*Database{}
		}
		e.databases[rows] = db
	}
	return db, err
}

// Seed makes a database of its own, with a server on it.
func (e *Env) Seed(ctx context.Context, database string, rows, others int64) (*Database, error) {
	url, err := e.Empty(ctx, database)
	if err != nil {
		return nil, err
	}
	if rows > 0 {
		if err := seed.Rows(ctx, url, rows, others); err != nil {
			return nil, err
		}
	}
	db, err := e.serve(ctx, database, url)
	if err == nil {
		db.Rows = rows
	}
	return db, err
}

// serve starts a server on a database, with further flags.
func (e *Env) serve(ctx context.Context, database, url string, flags ...string) (*Database, error) {
	server, err := e.Fencepost.Serve(ctx, url, slices.Concat(e.ServeFlags, flags)...)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, server.Stop)
	return &Database{Name: database, URL: url, Server: server, Fuel: seed.NewFuel(url)}, nil
}

// Empty makes a migrated database without rows, and returns its URL.
func (e *Env) Empty(ctx context.Context, database string) (string, error) {
	url, err := e.Cluster.Create(ctx, database)
	if err != nil {
		return "", err
	}
	return url, e.Fencepost.Migrate(ctx, url)
}

// MainDatabase is the one that operations are compared on.
func (e *Env) MainDatabase(ctx context.Context) (*Database, error) { return e.Database(ctx, e.Main) }

// Close stops what the operations have started.
func (e *Env) Close() error {
	var errs []error
	for _, stop := range e.closers {
		errs = append(errs, stop())
	}
	e.closers = nil
	return errors.Join(errs...)
}
