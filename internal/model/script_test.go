package model_test

import (
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
	"fencepost/internal/model"
)

// script writes histories by hand: each event follows the one before, unless it is told to overlap.
type script struct{ model.History }

func newScript() *script { return &script{model.History{MaxAttempts: 2}} }

func (s *script) add(e model.Event) *model.Event {
	at := int64(10 * len(s.Events))
	e.Call, e.Return = at, at+5
	s.Events = append(s.Events, e)
	return &s.Events[len(s.Events)-1]
}

func pending(id uuid.UUID) job.Job {
	return job.Job{ID: id, Status: job.StatusPending, RecordCount: 2, CreatedAt: time.Unix(1, 0)}
}

func shown(j job.Job, status job.Status, attempts int) *job.Job {
	j.Status, j.AttemptCount = status, attempts
	if status == job.StatusCancelled {
		j.CancellationCode = job.CancellationByOwner
	}
	return &j
}

func (s *script) submit(j job.Job, key, bytes string) *model.Event {
	return s.add(model.Event{Do: model.Submit, Key: key, Bytes: bytes, Answer: model.Answer{Job: &j}})
}

func (s *script) claim(j job.Job, lease uuid.UUID, attempt int) {
	s.add(model.Event{Do: model.Claim, Job: j.ID, Lease: lease, Answer: model.Answer{Attempt: attempt}})
}

func (s *script) verdict(do model.Action, j job.Job, lease uuid.UUID, matched bool) {
	s.add(model.Event{Do: do, Job: j.ID, Lease: lease, Answer: model.Answer{Matched: matched}})
}

func (s *script) read(j *job.Job) {
	s.add(model.Event{Do: model.Read, Job: j.ID, Answer: model.Answer{Job: j}})
}

func (s *script) inspect(j *job.Job, rows int) {
	s.add(model.Event{Do: model.Inspect, Job: j.ID, Answer: model.Answer{Job: j, Effects: rows * j.RecordCount, Ledger: rows}})
}

func (s *script) cancel(j *job.Job, key string) *model.Event {
	return s.add(model.Event{Do: model.Cancel, Job: j.ID, Key: key, Reason: job.CancellationByOwner, Answer: model.Answer{Job: j}})
}

// cancelFor is a cancellation for a reason, whose answer shows the job as cancelled for another.
func (s *script) cancelFor(reason, told string) *model.Event {
	j := shown(one, job.StatusCancelled, 0)
	j.CancellationCode = told
	e := s.cancel(j, "k")
	e.Reason = reason
	return e
}

func (s *script) replay(source, j job.Job, key, bytes string) *model.Event {
	return s.add(model.Event{Do: model.Replay, Job: source.ID, Key: key, Bytes: bytes, Answer: model.Answer{Job: &j}})
}

func replayOf(source job.Job) job.Job {
	j := pending(uuid.New())
	j.Derivation = &job.Derivation{SourceID: source.ID, RootID: source.RootID(), Generation: source.Generation() + 1}
	return j
}
