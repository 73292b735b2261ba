package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// fast gives up durability: the data of tests needs to survive nothing.
var fast = []string{"fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=300"}

// shared is the server that the tests of this process share.
type shared struct {
	engine engine
	admin  *pgxpool.Pool
}

var removeShared = func() error { return nil }

var sharedServer = sync.OnceValues(func() (*shared, error) {
	ctx := context.Background()
	e, err := sharedEngine(ctx)
	if err != nil {
		return nil, err
	}
	removeShared = e.remove
	admin, err := pgxpool.New(ctx, e.url())
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	removeShared = func() error {
		admin.Close()
		return e.remove()
	}
	return &shared{engine: e, admin: admin}, nil
})

var sharedTemplate = sync.OnceValues(func() (string, error) {
	s, err := sharedServer()
	if err != nil {
		return "", err
	}
	return s.ensureTemplate(context.Background())
})

// clone makes a database out of a template and returns its URL and what drops it.
func clone(ctx context.Context, template string) (string, func() error, error) {
	s, err := sharedServer()
	if err != nil {
		return "", nil, err
	}
	name := "fencepost_test_" + strings.ToLower(rand.Text())
	if _, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		return "", nil, fmt.Errorf("create a test database: %w", err)
	}
	drop := func() error {
		_, err := s.admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		return err
	}
	cloned, err := withDatabase(s.engine.url(), name)
	if err != nil {
		return "", nil, errors.Join(err, drop())
	}
	return cloned, drop, nil
}
