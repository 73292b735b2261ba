// Package pgtest gives every test a real PostgreSQL database of its own. Only tests import it.
//
// The schema is the migrator's, and tests connect as the server does in production, with the privileges of deploy/roles and no
// others; [As] and [Superuser] are for tests that need to be somebody else.
//
// The first test of a process that asks for a database starts (or finds) a server and migrates a template database; each
// test then gets a clone of it, which takes some milliseconds, and which is dropped when the test ends. The server is
//
//   - the one at FENCEPOST_TEST_DATABASE_URL, if that is set (as a superuser);
//   - else one started from the programs in the directory FENCEPOST_TEST_POSTGRES_BIN, if that is set;
//   - else a container of FENCEPOST_TEST_POSTGRES_IMAGE, if that is set;
//   - else a container of postgres:18-alpine, if a Docker engine answers;
//   - else one started from the PostgreSQL programs on the machine.
//
// Where FENCEPOST_TEST_POOLER_URL is set, the databases of [URL] are reached through that connection pooler, in front of the
// server at FENCEPOST_TEST_DATABASE_URL.
//
// Without a server the test fails; it is never skipped. A package that uses pgtest needs
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/deploy/roles"
)

var mainRuns atomic.Bool

// Main runs the tests of a package, removes the server that they started, cleans up what else there is, and exits. TestMain
// calls it.
func Main(m *testing.M, cleanUp ...func() error) {
	mainRuns.Store(true)
	code := m.Run()
	err := removeShared()
	for _, clean := range cleanUp {
		err = errors.Join(err, clean())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = 1
	}
	os.Exit(code)
}

// URL returns the connection string of a new database with all migrations applied, for the server's role. It is dropped when
// the test ends. Where there is a pooler it leads through that.
func URL(t testing.TB) string {
	t.Helper()
	url, err := pooled(As(t, newDatabase(t, sharedTemplate), roles.Server))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return url
}

// EmptyURL returns the connection string of a new database without any migration or role, for tests of these. The user is a
// superuser. It is dropped when the test ends.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, func() (string, error) { return "template0", nil })
}

// Pool returns a connection pool on a new database as made by [URL], closed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return PoolOn(t, URL(t))
}

// PoolOn returns a connection pool on the database at url, closed when the test ends.
func PoolOn(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// SuperuserPool returns a connection pool for a [Superuser] on the database at url, closed when the test ends.
func SuperuserPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	return PoolOn(t, Superuser(t, url))
}

func newDatabase(t testing.TB, template func() (string, error)) string {
	t.Helper()
	if !mainRuns.Load() {
		t.Fatal("pgtest: the package needs func TestMain(m *testing.M) { pgtest.Main(m) }")
	}
	from, err := template()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	url, drop, err := clone(context.Background(), from)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return url
}
