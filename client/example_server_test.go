package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
)

// exampleTB lets the helpers of tests make a server for an example, which has no [testing.TB] of its own.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (e *exampleTB) Helper()                           {}
func (e *exampleTB) Context() context.Context          { return context.Background() }
func (e *exampleTB) Cleanup(f func())                  { e.cleanups = append(e.cleanups, f) }
func (e *exampleTB) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (e *exampleTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// startServer starts a server on a database of its own, with a worker if there is to be one.
func startServer(withWorker bool) (url string, stop func()) {
	t := &exampleTB{}
	w := newWorld(t)
	if withWorker {
		t.startWorker(w)
	}
	return w.server.URL, func() {
		for _, cleanup := range slices.Backward(t.cleanups) {
			cleanup()
		}
	}
}

func (e *exampleTB) startWorker(w *world) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	config := worker.Config{
		Workers: 1, LeaseDuration: time.Minute, PollInterval: 20 * time.Millisecond,
		MaxAttempts: 3, RetryBackoff: time.Second, DrainTimeout: time.Minute,
	}
	go func() {
		ended <- worker.New(w.store, config, telemetry.NewMetrics(), slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	e.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	})
}
