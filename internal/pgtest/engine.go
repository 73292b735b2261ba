package pgtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
)

const (
	databaseURLVariable = "FENCEPOST_TEST_DATABASE_URL"
	poolerURLVariable   = "FENCEPOST_TEST_POOLER_URL"
	binDirVariable      = "FENCEPOST_TEST_POSTGRES_BIN"
	imageVariable       = "FENCEPOST_TEST_POSTGRES_IMAGE"
)

// engine is a server for tests.
type engine interface {
	url() string
	// remove ends the server and deletes its data, as far as they are ours.
	remove() error
}

// ownedEngine is a server that nobody else uses.
type ownedEngine interface {
	engine
	// stop shuts the server down in good order.
	stop(ctx context.Context) error
	// crash ends the server without a checkpoint.
	crash(ctx context.Context) error
	// start starts it again, under the same URL.
	start(ctx context.Context) error
}

// primaryEngine is an owned server that others can stream from.
type primaryEngine interface {
	ownedEngine
	// standby starts a hot standby of the server.
	standby(ctx context.Context) (ownedEngine, error)
}

// externalEngine is the URL of a server that somebody else runs.
type externalEngine string

func (e externalEngine) url() string   { return string(e) }
func (e externalEngine) remove() error { return nil }

func sharedEngine(ctx context.Context) (engine, error) {
	if url := os.Getenv(databaseURLVariable); url != "" {
		return externalEngine(url), nil
	}
	return newOwnedEngine(ctx, fast)
}

func newOwnedEngine(ctx context.Context, settings []string) (primaryEngine, error) {
	binDir, image := os.Getenv(binDirVariable), os.Getenv(imageVariable)
	if binDir == "" && dockerAnswers(ctx) {
		return newDockerEngine(ctx, cmp.Or(image, defaultImage), settings)
	}
	if binDir == "" && image != "" {
		return nil, fmt.Errorf("no Docker engine answers, to run %s, which %s asks for", image, imageVariable)
	}
	e, err := newLocalEngine(ctx, binDir, settings)
	if err != nil {
		return nil, fmt.Errorf("tests need PostgreSQL: start a Docker engine, set %s or %s, or install PostgreSQL: %w",
			databaseURLVariable, binDirVariable, err)
	}
	return e, nil
}
