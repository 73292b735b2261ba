package storetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/worker"
)

// Listen starts a listener and waits until it is connected.
func (w *World) Listen() <-chan worker.Notice {
	w.Helper()
	notices := make(chan worker.Notice, 100)
	ctx, stop := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Store.Listen(ctx, func(n worker.Notice) { notices <- n })
	}()
	w.Cleanup(func() { stop(); <-done })
	w.RequireNotices(notices, worker.Notice{})
	return notices
}

// RequireNotices checks that notices come in their order.
func (w *World) RequireNotices(notices <-chan worker.Notice, want ...worker.Notice) {
	w.Helper()
	for _, notice := range want {
		select {
		case got := <-notices:
			require.Equal(w, notice, got)
		case <-time.After(Patience):
			require.Fail(w, "no notice")
		}
	}
}
