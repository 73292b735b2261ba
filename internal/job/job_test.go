package job

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

func TestOnlyTheDocumentedTransitionsAreAllowed(t *testing.T) {
	t.Parallel()
	allowed := map[[2]Status]bool{
		{StatusPending, StatusRunning}:   true,
		{StatusPending, StatusFailed}:    true,
		{StatusPending, StatusCancelled}: true,
		{StatusRunning, StatusPending}:   true,
		{StatusRunning, StatusRunning}:   true,
		{StatusRunning, StatusSucceeded}: true,
		{StatusRunning, StatusFailed}:    true,
		{StatusRunning, StatusCancelled}: true,
	}
	for _, from := range Statuses {
		for _, to := range Statuses {
			assert.Equal(t, allowed[[2]Status{from, to}], from.CanBecome(to), "%s -> %s", from, to)
		}
	}
}

func TestTerminalStatusesAreFinal(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []Status{"PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"}, Statuses)
	terminal := []bool{false, false, true, true, true}
	for i, s := range Statuses {
		assert.Equal(t, terminal[i], s.Terminal(), s)
		assert.True(t, s.Valid(), s)
	}
}

func TestAStatusIsSpelledExactly(t *testing.T) {
	t.Parallel()
	for _, s := range []Status{"", "pending", "PENDING ", "DONE"} {
		assert.False(t, s.Valid(), s)
		assert.False(t, s.Terminal(), s)
		assert.False(t, s.CanBecome(StatusRunning), s)
	}
}

func TestCancelProblemNamesWhatANewKeyWouldMeet(t *testing.T) {
	t.Parallel()
	problems := map[Status]Code{
		StatusPending:   "",
		StatusRunning:   "",
		StatusSucceeded: CodeAlreadySucceeded,
		StatusFailed:    CodeAlreadyFailed,
		StatusCancelled: CodeCancellationKeyReused,
	}
	for _, s := range Statuses {
		assert.Equal(t, problems[s], Job{Status: s}.CancelProblem(), s)
	}
}

func TestReplayProblemNamesWhatTheRightBytesWouldMeet(t *testing.T) {
	t.Parallel()
	last := &Derivation{Generation: MaxGeneration}
	lastButOne := &Derivation{Generation: MaxGeneration - 1}
	cases := []struct {
		job     Job
		problem Code
	}{
		{Job{Status: StatusPending}, CodeReplaySourceActive},
		{Job{Status: StatusRunning}, CodeReplaySourceActive},
		{Job{Status: StatusSucceeded}, CodeReplaySourceSucceeded},
		{Job{Status: StatusFailed}, ""},
		{Job{Status: StatusCancelled}, ""},
		{Job{Status: StatusFailed, Derivation: lastButOne}, ""},
		{Job{Status: StatusFailed, Derivation: last}, CodeReplayGenerationExhausted},
		{Job{Status: StatusCancelled, Derivation: last}, CodeReplayGenerationExhausted},
		{Job{Status: StatusSucceeded, Derivation: last}, CodeReplaySourceSucceeded},
		{Job{Status: StatusRunning, Derivation: last}, CodeReplaySourceActive},
	}
	for _, c := range cases {
		assert.Equal(t, c.problem, c.job.ReplayProblem(), "%s in generation %d", c.job.Status, c.job.Generation())
	}
}

func TestARootIsItsOwnRootInGenerationZero(t *testing.T) {
	t.Parallel()
	root := Job{ID: newID()}
	assert.Equal(t, root.ID, root.RootID())
	assert.Zero(t, root.Generation())

	replay := Job{ID: newID(), Derivation: &Derivation{SourceID: newID(), RootID: root.ID, Generation: 2}}
	assert.Equal(t, root.ID, replay.RootID())
	assert.Equal(t, 2, replay.Generation())
}

func TestIDsAreVersion7AndGrow(t *testing.T) {
	t.Parallel()
	earlier, later := newID(), newID()
	assert.Equal(t, uuid.Version(7), earlier.Version())
	assert.Less(t, earlier.String(), later.String())
}

func TestAnIDIsWellFormedOnlyInItsCanonicalForm(t *testing.T) {
	t.Parallel()
	const canonical = "0193a5f0-7c1b-7abc-8def-0123456789ab"
	assert.Equal(t, canonical, parseID(canonical).String())
	for _, text := range []string{
		"", "x", " " + canonical, canonical + " ",
		"0193A5F0-7C1B-7ABC-8DEF-0123456789AB",
		"{" + canonical + "}", "urn:uuid:" + canonical,
		"0193a5f07c1b7abc8def0123456789ab",
		"0193a5f0-7c1b-7abc-8def-0123456789a",
	} {
		assert.Equal(t, uuid.Nil, parseID(text), text)
	}
}
