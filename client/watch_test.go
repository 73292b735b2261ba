package client_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/jobtype"
)

// watch follows a job to its end and calls seen after each step, with the job as it is then.
func (w *world) watch(c *client.Client, id uuid.UUID, seen func(client.Job)) {
	w.Helper()
	for job, err := range c.Watch(w.Context(), id) {
		require.NoError(w, err)
		seen(job)
	}
}

func TestWatchShowsEachChangeOnceAndEndsWithTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	var statuses []client.Status
	w.watch(c, id, func(job client.Job) {
		statuses = append(statuses, job.Status)
		if job.Status == jobtype.StatusPending {
			w.execute()
		}
	})
	require.Equal(t, []client.Status{jobtype.StatusPending, jobtype.StatusSucceeded}, statuses)
}

func TestWatchAsksConditionallyAndWaitsAsTheServerAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	began := time.Now()
	var asked atomic.Int64
	w.before(1000, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		n := asked.Add(1)
		require.Equal(t, n > 1, r.Header.Get("If-None-Match") != "")
		next.ServeHTTP(rw, r)
		if n == 2 { // this one was a 304
			w.execute()
		}
	})
	changes := 0
	w.watch(c, id, func(client.Job) { changes++ })
	require.Equal(t, 2, changes)
	require.Equal(t, int64(3), asked.Load())
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
}

func TestWatchCanBeLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	for job, err := range c.Watch(t.Context(), w.submit(c)) {
		require.NoError(t, err)
		require.Equal(t, jobtype.StatusPending, job.Status)
		break
	}
}

func TestWatchEndsAfterAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	var errs []error
	for _, err := range c.Watch(t.Context(), uuid.New()) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	requireProblem(t, errs[0], jobtype.CodeJobNotFound)

	w.before(1, func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = rw.Write([]byte("<html>")) })
	for _, err := range c.Watch(t.Context(), uuid.New()) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 2)
	require.ErrorContains(t, errs[1], "not one of a Fencepost server")
}

func TestWatchEndsWithItsContextAndWaitsWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	id := w.submit(c)
	w.before(1, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(forgetful{rw}, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range c.Watch(ctx, id) {
		last = err
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
}

// forgetful loses Retry-After on the way.
type forgetful struct{ http.ResponseWriter }

func (f forgetful) WriteHeader(status int) {
	f.Header().Del("Retry-After")
	f.ResponseWriter.WriteHeader(status)
}
