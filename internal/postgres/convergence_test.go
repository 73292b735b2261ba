package postgres

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// crowd is the number of identical requests that arrive together.
const crowd = 200

// together makes one call crowd times at once, and returns the ids it gave and how many were not replayed.
func (w *world) together(call func() (job.Accepted, error)) (ids map[uuid.UUID]int, fresh int) {
	w.Helper()
	var (
		start   = make(chan struct{})
		results = make(chan result[job.Accepted], crowd)
		group   sync.WaitGroup
	)
	for range crowd {
		group.Go(func() {
			<-start
			accepted, err := call()
			results <- result[job.Accepted]{accepted, err}
		})
	}
	close(start)
	group.Wait()
	close(results)
	ids = map[uuid.UUID]int{}
	for r := range results {
		require.NoError(w, r.err)
		ids[r.value.Job.ID]++
		if !r.value.Replayed {
			fresh++
		}
	}
	return ids, fresh
}

func TestTwoHundredIdenticalSubmissionsMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids, fresh := w.together(func() (job.Accepted, error) {
		return w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	})
	require.Len(t, ids, 1)
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, w.count("etl_job_records"))
	require.Equal(t, map[int]int{0: 1}, w.counter.created)
}

func TestTwoHundredIdenticalCancellationsMakeOneTransition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, _ := w.running()
	ids, fresh := w.together(func() (job.Accepted, error) { return w.cancel(j, "k") })
	require.Equal(t, map[uuid.UUID]int{j.ID: crowd}, ids)
	require.Equal(t, 1, fresh)
	require.Equal(t, map[job.Status]int{job.StatusCancelled: 1}, w.counter.ended)
}

func TestTwoHundredIdenticalReplaysMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.failed()
	ids, fresh := w.together(func() (job.Accepted, error) { return w.replay(source, "k") })
	require.Len(t, ids, 1)
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, w.count("etl_job_records WHERE replay_source_job_record_id = $1", source.ID))
	require.Equal(t, map[int]int{0: 1, 1: 1}, w.counter.created)
}
