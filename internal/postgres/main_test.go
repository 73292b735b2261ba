package postgres_test

import (
	"testing"

	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is [storetest.World], with what these tests need besides.
type world struct{ *storetest.World }

func newWorld(t *testing.T, options ...storetest.Option) *world {
	t.Helper()
	return &world{storetest.New(t, options...)}
}

// forEachExecution is [storetest.ForEachExecution].
func forEachExecution(t *testing.T, test func(w *world)) {
	t.Helper()
	storetest.ForEachExecution(t, func(w *storetest.World) { test(&world{w}) })
}
