package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/worker"
)

// listen starts a listener and waits until it is connected.
func (w *world) listen() <-chan worker.Notice {
	w.Helper()
	notices := make(chan worker.Notice, 100)
	ctx, stop := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.store.Listen(ctx, func(n worker.Notice) { notices <- n })
	}()
	w.Cleanup(func() { stop(); <-done })
	w.requireNotice(notices, worker.Notice{})
	return notices
}

func (w *world) requireNotice(notices <-chan worker.Notice, want worker.Notice) {
	w.Helper()
	select {
	case got := <-notices:
		require.Equal(w, want, got)
	case <-time.After(patience):
		require.Fail(w, "no notice")
	}
}

// requireNotices checks that notices come in their order.
func (w *world) requireNotices(notices <-chan worker.Notice, want []worker.Notice) {
	w.Helper()
	for _, notice := range want {
		w.requireNotice(notices, notice)
	}
}

func TestEveryTransitionIsNoticedWithItsLineage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	expect := func(j job.Job, status job.Status) {
		t.Helper()
		w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.RootID(), Status: status})
	}
	j := w.submit()
	expect(j, job.StatusPending)
	require.NoError(t, w.store.Retry(t.Context(), w.claim(), 0))
	expect(j, job.StatusRunning)
	expect(j, job.StatusPending)
	require.NoError(t, w.store.Fail(t.Context(), w.claim(), job.FailureTarget))
	expect(j, job.StatusRunning)
	expect(j, job.StatusFailed)
	replay, err := w.replay(j, "k")
	require.NoError(t, err)
	expect(replay.Job, job.StatusPending)
	require.NoError(t, w.store.Retry(t.Context(), w.claim(), time.Hour))
	expect(replay.Job, job.StatusRunning)
	expect(replay.Job, job.StatusPending)
	_, err = w.cancel(replay.Job, "k")
	require.NoError(t, err)
	expect(replay.Job, job.StatusCancelled)
	succeeded := w.succeeded()
	expect(succeeded, job.StatusPending)
	expect(succeeded, job.StatusRunning)
	expect(succeeded, job.StatusSucceeded)
	exhausted, _ := w.running()
	expect(exhausted, job.StatusPending)
	expect(exhausted, job.StatusRunning)
	w.mustExec("UPDATE etl_job_records SET attempt_count = 99 WHERE job_record_id = $1", exhausted.ID)
	w.expire(exhausted.ID)
	w.claimAll(1)
	expect(exhausted, job.StatusFailed)
}

func TestListenerCanConnectInAnotherWayThanThePool(t *testing.T) {
	t.Parallel()
	elsewhere := newWorld(t) // a database of its own stands for a way of its own
	listen, err := ParseListen(pgtest.Direct(elsewhere.url))
	require.NoError(t, err)
	w := newWorld(t, func(c *Config) { c.Listen = listen })
	notices := w.listen()
	w.submit()
	j := elsewhere.submit()
	w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}

func TestListenerConnectsAgainAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	w.mustExec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
	w.requireNotice(notices, worker.Notice{})
	j := w.submit()
	w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}

func TestForeignNotificationsArePassedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	id := uuid.NewString()
	for _, payload := range []string{"", "nonsense", "PENDING " + uuid.NewString(), "DONE " + id + " " + id, "PENDING nonsense " + id} {
		w.mustExec("SELECT pg_notify($1, $2)", channel, payload)
	}
	j := w.submit()
	w.requireNotice(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}

func TestPublishingNeverWaits(t *testing.T) {
	t.Parallel()
	n := newNotifier(nil) // nobody sends
	for range noticeBacklog + 1 {
		n.publish(worker.Notice{Status: job.StatusPending})
	}
	require.Len(t, n.waiting, noticeBacklog)
}

func TestPublishingAfterTheCloseIsHarmless(t *testing.T) {
	t.Parallel()
	n := newNotifier(nil)
	go n.run()
	n.close()
	n.publish(worker.Notice{Status: job.StatusPending})
}

func TestNoticesThatGatherGoOutTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	n := newNotifier(w.pool)
	sent := publishMany(n)
	go n.run()
	w.requireNotices(notices, sent)
	n.close()
}

func TestNoticesThatWaitAtTheCloseAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := w.listen()
	n := newNotifier(w.pool)
	sent := publishMany(n)
	n.drain() // what run does once it is stopped; which of the two it sees first is chance
	w.requireNotices(notices, sent)
}

// publishMany publishes one notice more than a notification can hold.
func publishMany(n *notifier) []worker.Notice {
	notices := make([]worker.Notice, noticesAtOnce+1)
	for i := range notices {
		notices[i] = worker.Notice{JobID: uuid.New(), RootID: uuid.New(), Status: job.StatusSucceeded}
		n.publish(notices[i])
	}
	return notices
}

func TestThePauseBetweenNotificationsEndsByItselfAndAtTheStop(t *testing.T) {
	t.Parallel()
	n := newNotifier(nil)
	n.pause(1)
	close(n.stop)
	n.pause(1)
}

func TestAListenerThatCannotConnectTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.store.listenOnce(ctx, func(n worker.Notice) { t.Errorf("told %v", n) })
}
