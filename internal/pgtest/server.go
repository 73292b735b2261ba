package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/deploy/roles"
)

// patience is how long a test waits for what normally happens at once.
const patience = time.Minute

// pollInterval is how often a wait looks.
const pollInterval = 5 * time.Millisecond

// Instance is a PostgreSQL server that belongs to one test, for tests of faults. Commits survive a crash.
type Instance struct {
	engine  ownedEngine
	standby func(ctx context.Context) (ownedEngine, error) // nil for a replica
}

// Server starts a server with a migrated database, whose life ends with the test. Further settings are written as
// "name=value". It takes about a second; a test that does not stop the server wants [URL].
func Server(t testing.TB, settings ...string) *Instance {
	t.Helper()
	e, err := newOwnedEngine(t.Context(), append([]string{"fsync=off", "full_page_writes=off"}, settings...))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := e.remove(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	if err := prepare(t.Context(), e.url()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return &Instance{e, e.standby}
}

// URL is the connection string of the migrated database for the server's role. It stays the same when the server is started
// again.
func (i *Instance) URL() string {
	server, _ := withRole(i.engine.url(), roles.Server) // the engines make well-formed URLs
	return server
}

// Crash ends the server at once, as a power cut would: connections break and nothing is rolled back or written.
func (i *Instance) Crash(t testing.TB) {
	t.Helper()
	if err := i.engine.crash(t.Context()); err != nil {
		t.Fatalf("pgtest: crash the server: %v", err)
	}
}

// Stop shuts the server down as an administrator would ("fast"): connections break and what was open is rolled back.
func (i *Instance) Stop(t testing.TB) {
	t.Helper()
	if err := i.engine.stop(t.Context()); err != nil {
		t.Fatalf("pgtest: stop the server: %v", err)
	}
}

// Start starts the server after a stop or a crash and returns when it has recovered and answers.
func (i *Instance) Start(t testing.TB) {
	t.Helper()
	if err := i.engine.start(t.Context()); err != nil {
		t.Fatalf("pgtest: start the server: %v", err)
	}
	poll(t, "the server to answer", func(ctx context.Context) (bool, error) {
		conn, err := pgx.Connect(ctx, i.URL())
		if err != nil {
			return false, nil //nolint:nilerr // it is still recovering
		}
		return true, conn.Close(ctx)
	})
}
