package batch_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"fencepost/internal/batch"
)

// server carries out calls, each about a number, once the test says so.
type server struct {
	batch.Gatherer[int, int]

	sent    chan []int // what goes together, in the order of sending
	answers chan error // one for each sending
}

// newServer makes one that doubles what is even, and has no result for what is odd.
func newServer() *server {
	s := &server{sent: make(chan []int, 10), answers: make(chan error)}
	s.Verb, s.Send = "double", func(_ context.Context, calls []int) ([]batch.Placed[int], error) {
		s.sent <- calls
		err := <-s.answers
		var results []batch.Placed[int]
		for i := len(calls) - 1; i >= 0; i-- { // in no order that a caller could count on
			if calls[i]%2 == 0 {
				results = append(results, batch.Placed[int]{Result: 2 * calls[i], Place: i + 1})
			}
		}
		return results, err
	}
	return s
}

// result is what a call returned.
type result struct {
	values []int
	err    error
}

// call makes a call, and returns once it waits to be sent, or for its answer.
func (s *server) call(ctx context.Context, n int) <-chan result {
	returned := make(chan result, 1)
	go func() {
		values, err := s.Do(ctx, n)
		returned <- result{values, err}
	}()
	synctest.Wait()
	return returned
}

// answer lets the sending that is under way end.
func (s *server) answer(err error) {
	s.answers <- err
	synctest.Wait()
}

// inBubble runs a test in which everything that could happen has happened before the next step.
func inBubble(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newServer()) })
}

func TestCallThatComesWhenNothingIsUnderWayGoesAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		for _, n := range []int{2, 4} {
			call := s.call(t.Context(), n)
			require.Equal(t, []int{n}, <-s.sent)
			s.answer(nil)
			require.Equal(t, result{values: []int{2 * n}}, <-call)
		}
	})
}

func TestCallsThatComeWhileOneIsUnderWayGoTogetherAndGetTheirOwnResults(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		first := s.call(t.Context(), 2)
		var calls []<-chan result
		for _, n := range []int{4, 5, 6, 4} {
			calls = append(calls, s.call(t.Context(), n))
		}
		require.Equal(t, 4, s.Waiting())
		s.answer(nil)
		require.Equal(t, []int{2}, <-s.sent)
		require.Equal(t, []int{4, 5, 6, 4}, <-s.sent)
		require.Zero(t, s.Waiting())
		s.answer(nil)
		require.Equal(t, result{values: []int{4}}, <-first)
		for i, want := range [][]int{{8}, nil, {12}, {8}} {
			require.Equal(t, result{values: want}, <-calls[i])
		}
	})
}

func TestNoMoreThanSoManyCallsGoTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		s.call(t.Context(), 0)
		for n := range batch.Most + 1 {
			s.call(t.Context(), n)
		}
		for _, together := range []int{1, batch.Most, 1} {
			require.Len(t, <-s.sent, together)
			s.answer(nil)
		}
		require.Empty(t, s.sent)
	})
}

func TestSecondSendingGoesOnceManyCallsWaitAndNeverAThird(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		s.Second = 3
		for n := range 3 {
			s.call(t.Context(), n)
		}
		require.Len(t, s.sent, 1, "two wait")
		s.call(t.Context(), 3)
		require.Equal(t, []int{0}, <-s.sent)
		require.Equal(t, []int{1, 2, 3}, <-s.sent)
		for n := range 6 {
			s.call(t.Context(), n)
		}
		require.Empty(t, s.sent)
		require.Equal(t, 6, s.Waiting())
		s.answer(nil)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, <-s.sent)
		s.answer(nil)
		s.answer(nil)
		s.call(t.Context(), 7)
		require.Equal(t, []int{7}, <-s.sent)
		s.call(t.Context(), 8)
		require.Empty(t, s.sent, "one is under way again, and one waits")
		s.answer(nil)
		s.answer(nil)
	})
}

func TestThereIsNoSecondSendingUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		for n := range 50 {
			s.call(t.Context(), n)
		}
		require.Len(t, s.sent, 1)
		s.answer(nil)
		s.answer(nil)
	})
}

func TestCallThatIsGivenUpBeforeItIsSentIsNeverSent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		leaving, leave := context.WithCancel(t.Context())
		s.call(t.Context(), 2)
		given, other := s.call(leaving, 4), s.call(t.Context(), 6)
		leave()
		gone := <-given
		require.ErrorIs(t, gone.err, context.Canceled)
		require.ErrorContains(t, gone.err, "double: ")
		require.Equal(t, 1, s.Waiting())
		s.answer(nil)
		require.Equal(t, []int{2}, <-s.sent)
		require.Equal(t, []int{6}, <-s.sent)
		s.answer(nil)
		require.Equal(t, result{values: []int{12}}, <-other)
	})
}

func TestCallThatIsGivenUpOnceItIsSentHappensAndDisturbsNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		leaving, leave := context.WithCancel(t.Context())
		s.call(t.Context(), 2)
		given, other := s.call(leaving, 4), s.call(t.Context(), 6)
		s.answer(nil)
		leave()
		require.ErrorIs(t, (<-given).err, context.Canceled)
		require.Equal(t, []int{2}, <-s.sent)
		require.Equal(t, []int{4, 6}, <-s.sent)
		s.answer(nil)
		require.Equal(t, result{values: []int{12}}, <-other)
	})
}

func TestSendingHasNoCallersDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bounded bool
		g := &batch.Gatherer[int, int]{Send: func(ctx context.Context, _ []int) ([]batch.Placed[int], error) {
			_, bounded = ctx.Deadline()
			return nil, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := g.Do(ctx, 1)
		require.NoError(t, err)
		require.False(t, bounded)
	})
}

func TestSendingThatFailsFailsEachOfItsCallsAndNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *server) {
		failure := errors.New("failed")
		first := s.call(t.Context(), 2)
		second, third := s.call(t.Context(), 3), s.call(t.Context(), 4)
		s.answer(nil)
		last := s.call(t.Context(), 6)
		s.answer(failure)
		s.answer(nil)
		require.Equal(t, result{values: []int{4}}, <-first)
		require.Equal(t, failure, (<-second).err)
		require.Equal(t, failure, (<-third).err, "with a result or without")
		require.Equal(t, result{values: []int{12}}, <-last)
	})
}

func TestCallThatIsDoneIsNotKeptInMemory(t *testing.T) {
	t.Parallel()
	type payload = *[1 << 10]byte
	g := &batch.Gatherer[payload, int]{Send: func(context.Context, []payload) ([]batch.Placed[int], error) { return nil, nil }}
	var kept []weak.Pointer[[1 << 10]byte]
	for range 3 {
		p := new([1 << 10]byte)
		kept = append(kept, weak.Make(p))
		_, err := g.Do(t.Context(), p)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return !slices.ContainsFunc(kept, func(p weak.Pointer[[1 << 10]byte]) bool { return p.Value() != nil })
	}, time.Minute, time.Millisecond)
	runtime.KeepAlive(g)
}
