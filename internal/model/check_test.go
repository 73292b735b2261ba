package model_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/model"
)

// Two jobs and three leases for the scripts.
var (
	one, other            = pending(uuid.New()), pending(uuid.New())
	first, second, absent = uuid.New(), uuid.New(), uuid.New()
)

func refused(e *model.Event, code job.Code) { e.Answer.Refusal = code }
func replayed(e *model.Event)               { e.Answer.Replayed = true }

// truths are histories that keep every promise.
var truths = map[string]func(*script){
	"a job succeeds": func(s *script) {
		s.submit(one, "a", "x")
		s.inspect(&one, 0)
		s.claim(one, first, 1)
		s.verdict(model.Execute, one, first, true)
		s.verdict(model.Fail, one, first, false)
		refused(s.cancel(shown(one, job.StatusSucceeded, 1), "k"), job.CodeAlreadySucceeded)
		refused(s.replay(one, *shown(one, job.StatusSucceeded, 1), "r", "x"), job.CodeReplaySourceSucceeded)
		s.inspect(shown(one, job.StatusSucceeded, 1), 1)
		s.read(shown(one, job.StatusSucceeded, 1))
	},
	"a key is used again": func(s *script) {
		s.submit(one, "a", "x")
		replayed(s.submit(one, "a", "x"))
		refused(s.submit(one, "a", "y"), job.CodeSubmissionKeyReused)
		s.submit(other, "b", "x")
		s.add(model.Event{Do: model.Submit, Key: "b", Bytes: "x", Answer: model.Answer{Refusal: job.CodeSubmissionInProgress}})
	},
	"an expired lease is claimed again, and the first worker is stale": func(s *script) {
		s.submit(one, "a", "x")
		s.claim(one, first, 1)
		s.verdict(model.Expire, one, uuid.Nil, true)
		s.verdict(model.Execute, one, first, false)
		s.claim(one, second, 2)
		s.verdict(model.Retry, one, first, false)
		s.verdict(model.Retry, one, second, true)
		s.verdict(model.Expire, one, uuid.Nil, false)
		s.add(model.Event{Do: model.Claim, Answer: model.Answer{Exhausted: 1}})
		exhausted := *shown(one, job.StatusFailed, 2)
		exhausted.FailureCode = job.FailureAttemptsExhausted
		refused(s.cancel(&exhausted, "k"), job.CodeAlreadyFailed)
		s.read(&exhausted)
	},
	"a cancelled job is replayed": func(s *script) {
		cancelled, replay := shown(one, job.StatusCancelled, 0), replayOf(one)
		s.submit(one, "a", "x")
		refused(s.replay(one, one, "r", "x"), job.CodeReplaySourceActive)
		s.cancel(cancelled, "k")
		replayed(s.cancel(cancelled, "k"))
		refused(s.cancel(cancelled, "l"), job.CodeCancellationKeyReused)
		refused(s.cancel(cancelled, "k"), job.CodeCancellationInProgress)
		refused(s.replay(one, *cancelled, "r", "y"), job.CodeReplayPayloadMismatch)
		s.replay(one, replay, "r", "x")
		replayed(s.replay(one, replay, "r", "x"))
		refused(s.replay(one, replay, "r", "y"), job.CodeReplayKeyReused)
		refused(s.replay(one, replay, "s", "x"), job.CodeReplayInProgress)
	},
	"a cancellation says why": func(s *script) {
		s.submit(one, "a", "x")
		s.cancelFor("wrong_batch", "wrong_batch")
		replayed(s.cancelFor("wrong_batch", "wrong_batch"))
		refused(s.cancelFor("superseded", "wrong_batch"), job.CodeCancellationKeyReused)
	},
	"a cancellation overlaps an execution, and either may be first": func(s *script) {
		s.submit(one, "a", "x")
		s.claim(one, first, 1)
		s.verdict(model.Execute, one, first, false)
		s.cancel(shown(one, job.StatusCancelled, 1), "k")
		s.Events[2].Return = s.Events[3].Return
	},
	"the first answer to a cancellation was cut": func(s *script) {
		s.Cut = true
		s.submit(one, "a", "x")
		replayed(s.cancel(shown(one, job.StatusCancelled, 0), "k"))
	},
}

// lies are histories that break one promise each.
var lies = map[string]func(*script){
	"success without effects": func(s *script) { s.succeed(one); s.inspect(shown(one, job.StatusSucceeded, 1), 0) },
	"effects without success": func(s *script) { s.submit(one, "a", "x"); s.inspect(&one, 1) },
	"two terminal outcomes":   func(s *script) { s.succeed(one); s.cancel(shown(one, job.StatusCancelled, 1), "k") },
	"two successes":           func(s *script) { s.succeed(one); s.verdict(model.Execute, one, first, true) },
	"claim of a terminal job": func(s *script) { s.succeed(one); s.claim(one, second, 2) },
	"claim of a live lease":   func(s *script) { s.submit(one, "a", "x"); s.claim(one, first, 1); s.claim(one, second, 2) },
	"claim under the lease before": func(s *script) {
		s.submit(one, "a", "x")
		s.claim(one, first, 1)
		s.verdict(model.Expire, one, uuid.Nil, true)
		s.claim(one, first, 2)
	},
	"claim of no job":         func(s *script) { s.claim(one, first, 1) },
	"attempt not counted":     func(s *script) { s.submit(one, "a", "x"); s.claim(one, first, 2) },
	"verdict without a lease": func(s *script) { s.submit(one, "a", "x"); s.verdict(model.Fail, one, absent, true) },
	"stale under a live lease": func(s *script) {
		s.submit(one, "a", "x")
		s.claim(one, first, 1)
		s.verdict(model.Fail, one, first, false)
	},
	"success after the lease expired": func(s *script) {
		s.submit(one, "a", "x")
		s.claim(one, first, 1)
		s.verdict(model.Expire, one, uuid.Nil, true)
		s.verdict(model.Execute, one, first, true)
	},
	"claim over the attempt limit": func(s *script) {
		s.submit(one, "a", "x")
		for attempt := 1; attempt <= 3; attempt++ {
			s.claim(one, first, attempt)
			s.verdict(model.Retry, one, first, true)
		}
	},
	"exhausted with an attempt left": func(s *script) {
		s.submit(one, "a", "x")
		s.add(model.Event{Do: model.Claim, Answer: model.Answer{Exhausted: 1}})
		exhausted := *shown(one, job.StatusFailed, 0)
		exhausted.FailureCode = job.FailureAttemptsExhausted
		s.read(&exhausted)
	},
	"exhausted and not told": func(s *script) {
		s.submit(one, "a", "x")
		s.add(model.Event{Do: model.Claim, Answer: model.Answer{Exhausted: 1}})
	},
	"acknowledged submission lost": func(s *script) { s.submit(one, "a", "x"); s.submit(other, "a", "x") },
	"acknowledged cancellation lost": func(s *script) {
		s.submit(one, "a", "x")
		s.cancel(shown(one, job.StatusCancelled, 0), "k")
		s.read(&one)
	},
	"first submission replayed":      func(s *script) { replayed(s.submit(one, "a", "x")) },
	"second submission not replayed": func(s *script) { s.submit(one, "a", "x"); s.submit(one, "a", "x") },
	"another job under a used key":   func(s *script) { s.submit(one, "a", "x"); replayed(s.submit(other, "a", "x")) },
	"used key takes other bytes":     func(s *script) { s.submit(one, "a", "x"); replayed(s.submit(one, "a", "y")) },
	"free key refused": func(s *script) {
		s.submit(one, "a", "x")
		refused(s.submit(one, "b", "x"), job.CodeSubmissionKeyReused)
	},
	"first cancellation replayed": func(s *script) {
		s.submit(one, "a", "x")
		replayed(s.cancel(shown(one, job.StatusCancelled, 0), "k"))
	},
	"cancellation replayed under another key": func(s *script) {
		s.submit(one, "a", "x")
		s.cancel(shown(one, job.StatusCancelled, 0), "k")
		replayed(s.cancel(shown(one, job.StatusCancelled, 0), "l"))
	},
	"cancellation replayed for another reason": func(s *script) {
		s.submit(one, "a", "x")
		s.cancelFor("wrong_batch", "wrong_batch")
		replayed(s.cancelFor("superseded", "wrong_batch"))
	},
	"another reason told": func(s *script) {
		s.submit(one, "a", "x")
		s.cancelFor("wrong_batch", "superseded")
	},
	"right cancellation key refused": func(s *script) {
		s.submit(one, "a", "x")
		s.cancel(shown(one, job.StatusCancelled, 0), "k")
		refused(s.cancel(shown(one, job.StatusCancelled, 0), "k"), job.CodeCancellationKeyReused)
	},
	"pending job already succeeded": func(s *script) {
		s.submit(one, "a", "x")
		refused(s.cancel(&one, "k"), job.CodeAlreadySucceeded)
	},
	"known job not found": func(s *script) {
		s.submit(one, "a", "x")
		refused(s.cancel(&one, "k"), job.CodeJobNotFound)
	},
	"replay of an active source": func(s *script) { s.submit(one, "a", "x"); s.replay(one, replayOf(one), "r", "x") },
	"replay refused for no reason": func(s *script) {
		s.submit(one, "a", "x")
		s.cancel(shown(one, job.StatusCancelled, 0), "k")
		refused(s.replay(one, *shown(one, job.StatusCancelled, 0), "r", "x"), job.CodeReplaySourceActive)
	},
	"generation skipped": func(s *script) {
		replay := replayOf(one)
		replay.Derivation.Generation = 2
		s.cancelAndReplay(replay)
	},
	"root of another lineage": func(s *script) {
		replay := replayOf(one)
		replay.Derivation.RootID = other.ID
		s.cancelAndReplay(replay)
	},
	"lineage changed": func(s *script) {
		replay := replayOf(one)
		s.cancelAndReplay(replay)
		replay.Derivation = nil
		s.read(&replay)
	},
	"terminal job changed": func(s *script) {
		s.succeed(one)
		s.read(shown(one, job.StatusSucceeded, 1))
		later := shown(one, job.StatusSucceeded, 1)
		later.UpdatedAt = time.Unix(2, 0)
		s.read(later)
	},
}

func (s *script) succeed(j job.Job) {
	s.submit(j, "a", "x")
	s.claim(j, first, 1)
	s.verdict(model.Execute, j, first, true)
}

func (s *script) cancelAndReplay(replay job.Job) {
	s.submit(one, "a", "x")
	s.cancel(shown(one, job.StatusCancelled, 0), "k")
	s.replay(one, replay, "r", "x")
}

func TestHistoriesThatKeepEveryPromisePass(t *testing.T) {
	t.Parallel()
	for name, tell := range truths {
		s := newScript()
		tell(s)
		require.NoError(t, model.Check(s.History), name)
	}
}

func TestHistoriesThatBreakOnePromiseFail(t *testing.T) {
	t.Parallel()
	for name, tell := range lies {
		s := newScript()
		tell(s)
		require.Error(t, model.Check(s.History), name)
	}
}
