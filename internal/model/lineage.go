package model

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"fencepost/internal/job"
)

// checkRepresentations compares everything that was ever shown of each job: its origin never changes, its generation follows
// its source's, and once it is terminal nothing changes any more.
func (h History) checkRepresentations() error {
	first, final := map[uuid.UUID]job.Job{}, map[uuid.UUID]job.Job{}
	for _, e := range h.Events {
		if e.Answer.Job == nil || e.Do == Inspect {
			continue
		}
		j := *e.Answer.Job
		if earlier, seen := first[j.ID]; seen && !sameOrigin(earlier, j) {
			return fmt.Errorf("job %s changed its origin: %+v, %+v", j.ID, earlier, j)
		}
		first[j.ID] = j
		if !j.Status.Terminal() {
			continue
		}
		if earlier, seen := final[j.ID]; seen && !reflect.DeepEqual(earlier, j) {
			return fmt.Errorf("terminal job %s changed: %+v, %+v", j.ID, earlier, j)
		}
		final[j.ID] = j
	}
	return checkGenerations(first)
}

func sameOrigin(a, b job.Job) bool {
	return reflect.DeepEqual(a.Derivation, b.Derivation) && a.RecordCount == b.RecordCount && a.CreatedAt.Equal(b.CreatedAt)
}

// checkGenerations needs every source among the jobs.
func checkGenerations(jobs map[uuid.UUID]job.Job) error {
	for _, j := range jobs {
		if j.Derivation == nil {
			continue
		}
		source, known := jobs[j.SourceID]
		if !known || j.Generation() != source.Generation()+1 || j.RootID() != source.RootID() {
			return fmt.Errorf("job %s does not follow its source: %+v, %+v", j.ID, j.Derivation, source.Derivation)
		}
	}
	return nil
}

// checkExhaustion compares the jobs that claims failed with the jobs that ended so.
func (h History) checkExhaustion() error {
	told, found := 0, map[uuid.UUID]bool{}
	for _, e := range h.Events {
		told += e.Answer.Exhausted
		if j := e.Answer.Job; j != nil && j.FailureCode == job.FailureAttemptsExhausted {
			found[j.ID] = true
		}
	}
	if told != len(found) {
		return fmt.Errorf("claims exhausted %d jobs and %d ended so", told, len(found))
	}
	return nil
}
