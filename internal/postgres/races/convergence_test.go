package races

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
)

// crowd is the number of identical requests that arrive together.
const crowd = 200

// together makes one call crowd times at once, and returns the ids it gave and how many were not replayed.
func (w *world) together(call func() (job.Accepted, error)) (ids map[uuid.UUID]int, fresh int) {
	w.Helper()
	var (
		start   = make(chan struct{})
		results = make(chan storetest.Result[job.Accepted], crowd)
		group   sync.WaitGroup
	)
	for range crowd {
		group.Go(func() {
			<-start
			accepted, err := call()
			results <- storetest.Result[job.Accepted]{Value: accepted, Err: err}
		})
	}
	close(start)
	group.Wait()
	close(results)
	ids = map[uuid.UUID]int{}
	for r := range results {
		require.NoError(w, r.Err)
		ids[r.Value.Job.ID]++
		if !r.Value.Replayed {
			fresh++
		}
	}
	return ids, fresh
}

func TestTwoHundredIdenticalSubmissionsMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids, fresh := w.together(func() (job.Accepted, error) {
		return w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	})
	require.Len(t, ids, 1)
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, w.Count("etl_job_records"))
	require.Equal(t, map[int]int{0: 1}, w.Counter.Created)
}

func TestTwoHundredIdenticalCancellationsMakeOneTransition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.RunningJob()
	ids, fresh := w.together(func() (job.Accepted, error) { return w.Cancel(j, "k") })
	require.Equal(t, map[uuid.UUID]int{j.ID: crowd}, ids)
	require.Equal(t, 1, fresh)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 1}, w.Counter.Ended)
}

func TestTwoHundredIdenticalReplaysMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.FailedJob()
	ids, fresh := w.together(func() (job.Accepted, error) { return w.Replay(source, "k") })
	require.Len(t, ids, 1)
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, w.Count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
	require.Equal(t, map[int]int{0: 1, 1: 1}, w.Counter.Created)
}
