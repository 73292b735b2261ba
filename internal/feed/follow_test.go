package feed_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/worker"
)

var errDown = errors.New("down")

// thing is something to follow: a number that a test changes. It is final from 100 on, and cannot be read below 0.
type thing struct {
	id    uuid.UUID
	value atomic.Int64
	reads atomic.Int64
}

func newThing(value int64) *thing {
	th := &thing{id: uuid.New()}
	th.value.Store(value)
	return th
}

func (th *thing) read(context.Context) (int64, error) {
	th.reads.Add(1)
	value := th.value.Load()
	if value < 0 {
		return 0, errDown
	}
	return value, nil
}

func (th *thing) follow(ctx context.Context, h *feed.Hub) (<-chan int64, error) {
	return feed.Follow(ctx, h, feed.Subject[int64]{
		Owner: ann, ID: th.id, Read: th.read, Final: func(value int64) bool { return value >= 100 },
	})
}

func (th *thing) mustFollow(t *testing.T, ctx context.Context, h *feed.Hub) <-chan int64 {
	t.Helper()
	states, err := th.follow(ctx, h)
	require.NoError(t, err)
	return states
}

func newHub() *feed.Hub { return feed.New(feed.Config{Limits: feed.Limits{PerOwner: 1, Total: 1}}) }

// about is a notice of a job in a lineage.
func about(id, root uuid.UUID) worker.Notice {
	return worker.Notice{JobID: id, RootID: root, Status: job.StatusRunning}
}

// pass lets time pass on the bubble's clock.
func pass(d time.Duration) { <-time.After(d) }

func requireClosed(t *testing.T, states <-chan int64) {
	t.Helper()
	state, open := <-states
	require.False(t, open, "got %d", state)
}

func TestTheStateComesFirstThenEachChangeUntilTheFinalOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, th, began := newHub(), newThing(1), time.Now()
		states := th.mustFollow(t, t.Context(), h)
		require.EqualValues(t, 1, <-states)
		th.value.Store(2)
		h.Notify(about(th.id, th.id))
		require.EqualValues(t, 2, <-states)
		th.value.Store(100)
		h.Notify(about(uuid.New(), th.id)) // of another job in the lineage
		require.EqualValues(t, 100, <-states)
		requireClosed(t, states)
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestAFinalStateIsDeliveredAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		states := newThing(100).mustFollow(t, t.Context(), newHub())
		require.EqualValues(t, 100, <-states)
		requireClosed(t, states)
	})
}

func TestALostNoticeOnlyCostsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		th, began := newThing(1), time.Now()
		states := th.mustFollow(t, t.Context(), newHub())
		require.EqualValues(t, 1, <-states)
		th.value.Store(100)
		require.EqualValues(t, 100, <-states)
		took := time.Since(began)
		require.GreaterOrEqual(t, took, 5*time.Second)
		require.LessOrEqual(t, took, 11*time.Second)
		requireClosed(t, states)
	})
}

func TestTheZeroNoticeMakesAllReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, th, began := newHub(), newThing(1), time.Now()
		states := th.mustFollow(t, t.Context(), h)
		require.EqualValues(t, 1, <-states)
		th.value.Store(100)
		h.Notify(worker.Notice{})
		require.EqualValues(t, 100, <-states)
		require.Less(t, time.Since(began), time.Second)
		requireClosed(t, states)
	})
}

func TestAFailedReadIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, th := newHub(), newThing(1)
		states := th.mustFollow(t, t.Context(), h)
		require.EqualValues(t, 1, <-states)
		th.value.Store(-1)
		h.Notify(worker.Notice{})
		pass(time.Second)
		require.EqualValues(t, 2, th.reads.Load())
		th.value.Store(100)
		require.EqualValues(t, 100, <-states)
		requireClosed(t, states)
	})
}

func TestASlowReaderGetsTheLatestStateAndQueuesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, th := newHub(), newThing(1)
		states := th.mustFollow(t, t.Context(), h)
		for value := range int64(100) {
			th.value.Store(value + 1)
			h.Notify(about(th.id, th.id))
			synctest.Wait()
		}
		require.EqualValues(t, 1, th.reads.Load(), "nothing is read for a reader that does not read")
		require.EqualValues(t, 1, <-states)
		require.EqualValues(t, 100, <-states)
		requireClosed(t, states)
		require.EqualValues(t, 2, th.reads.Load())
	})
}

func TestWhatChangesAllTheTimeIsReadABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h, th := newHub(), newThing(1)
		states := th.mustFollow(t, ctx, h)
		require.EqualValues(t, 1, <-states)
		for range 1000 {
			h.Notify(about(th.id, th.id))
			pass(time.Millisecond)
		}
		require.LessOrEqual(t, th.reads.Load(), int64(21))
		stop()
		requireClosed(t, states)
	})
}

func TestFollowingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"in the pause": 0, "after it": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				h := newHub()
				states := newThing(1).mustFollow(t, ctx, h)
				require.EqualValues(t, 1, <-states)
				pass(wait)
				stop()
				requireClosed(t, states)
				newThing(1).mustFollow(t, t.Context(), h) // there is room again
			})
		})
	}
}

func TestFollowingEndsWhileNobodyReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		states := newThing(1).mustFollow(t, ctx, newHub())
		stop()
		synctest.Wait()
		requireClosed(t, states)
	})
}

func TestNoMoreIsFollowedThanTheLimitsAllow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		states := newThing(100).mustFollow(t, t.Context(), h)
		_, err := newThing(1).follow(t.Context(), h)
		require.ErrorIs(t, err, feed.ErrFull)
		require.EqualValues(t, 100, <-states)
		requireClosed(t, states)
		_, err = newThing(-1).follow(t.Context(), h)
		require.ErrorIs(t, err, errDown)
		newThing(1).mustFollow(t, t.Context(), h) // a first read that fails takes no room
	})
}

func TestSeveralFollowTheSameThing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, th := feed.New(feed.Config{Limits: feed.Limits{PerOwner: 2, Total: 2}}), newThing(1)
		one, other := th.mustFollow(t, t.Context(), h), th.mustFollow(t, t.Context(), h)
		require.Equal(t, 2, h.Followed())
		require.EqualValues(t, 1, <-one)
		require.EqualValues(t, 1, <-other)
		th.value.Store(100)
		h.Notify(about(th.id, uuid.New()))
		require.EqualValues(t, 100, <-one)
		require.EqualValues(t, 100, <-other)
		requireClosed(t, one)
		requireClosed(t, other)
		require.Zero(t, h.Followed())
	})
}
