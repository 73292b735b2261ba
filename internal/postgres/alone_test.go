package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/storetest"
)

// takes is a write that takes so long, and keeps how long it might have waited.
func takes(d time.Duration, patience *time.Duration) func(context.Context, time.Duration) error {
	return func(_ context.Context, given time.Duration) error {
		*patience = given
		<-time.After(d)
		return nil
	}
}

func TestCallWaitsForItsTurnAndForLocksWithinOneLockTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alone := postgres.Alone(10 * time.Second)
		var first, second, other time.Duration
		ended := storetest.Async(func() (struct{}, error) {
			return struct{}{}, alone(t.Context(), "row", takes(4*time.Second, &first))
		})
		synctest.Wait()
		require.NoError(t, alone(t.Context(), "other", takes(0, &other)))
		require.NoError(t, alone(t.Context(), "row", takes(0, &second)))
		require.NoError(t, (<-ended).Err)
		require.Equal(t, []time.Duration{9 * time.Second, 9 * time.Second, 5 * time.Second}, []time.Duration{first, other, second})
	})
}

func TestOneCallAtATimeWaitsForWhatIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alone := postgres.Alone(10 * time.Second)
		ended := storetest.Async(func() (struct{}, error) {
			return struct{}{}, alone(t.Context(), "row", takes(time.Minute, new(time.Duration)))
		})
		synctest.Wait()
		never := func(context.Context, time.Duration) error { return errors.New("it was not its turn") }
		require.ErrorIs(t, alone(t.Context(), "row", never), job.ErrBusy)
		leaving, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		err := alone(leaving, "row", never)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, job.ErrBusy)
		require.NoError(t, (<-ended).Err)
	})
}

func TestContendedKeyKeepsNoOtherSubmissionWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLockTimeout(time.Hour)) // longer than any call, so that who shares with what waits fails
	holder := w.Begin()
	w.Send(holder, "submit", storetest.SubmitArgs(w.NewJob("held", storetest.Batch)))
	long := bytes.Replace(storetest.Batch, []byte(`[`), append([]byte(`[`), bytes.Repeat([]byte(` `), 20<<10)...), 1)
	waiting := storetest.Async(w.submitLater("held", long)) // alone, because it is long
	w.WaitForLock()
	next := storetest.Async(w.submitLater("held", storetest.Batch))
	for range 10 {
		w.Submit()
	}
	require.NoError(t, holder.Commit(t.Context()))
	require.Error(t, (<-waiting).Err)
	accepted := <-next
	require.NoError(t, accepted.Err)
	require.True(t, accepted.Value.Replayed)
}

func TestSubmissionWhoseKeyWasHeldTooLongIsAskedForAloneUntilItIsDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.WithLockTimeout(50*time.Millisecond))
	holder := w.Begin()
	w.Send(holder, "submit", storetest.SubmitArgs(w.NewJob("held", storetest.Batch)))
	for range 2 {
		_, err := w.submitLater("held", storetest.Batch)()
		storetest.RequireProblem(t, job.CodeSubmissionInProgress, err)
		require.True(t, postgres.Contended(w.Store, w.NewJob("held", storetest.Batch)))
	}
	require.NoError(t, holder.Rollback(t.Context()))
	_, err := w.submitLater("held", storetest.Batch)()
	require.NoError(t, err)
	require.False(t, postgres.Contended(w.Store, w.NewJob("held", storetest.Batch)))
}
