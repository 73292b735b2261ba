package auth

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

// gate makes bcrypt wait, inside a synctest bubble, until it is opened. It returns how many checks are waiting now.
func (f *fixture) gate() (open chan struct{}, waiting *atomic.Int64) {
	open, waiting = make(chan struct{}), new(atomic.Int64)
	compare := f.compare
	f.compare = func(hash, password []byte) error {
		waiting.Add(1)
		<-open
		waiting.Add(-1)
		return compare(hash, password)
	}
	return open, waiting
}

func TestConcurrentFirstRequestsShareOneCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, user("ann", "secret"), Options{})
		gate, _ := f.gate()
		var accepted atomic.Int64
		for range 50 {
			go func() {
				if f.accepts("ann", "secret") {
					accepted.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		require.EqualValues(t, 50, accepted.Load())
		require.Equal(t, 1, f.compares)
	})
}

func TestFlightAfterTheCheckFindsItRemembered(t *testing.T) {
	t.Parallel()
	f := open(t, user("ann", "secret"), Options{})
	require.True(t, f.accepts("ann", "secret"))
	r := request("ann", "secret")
	c, ok := credentialOf(r)
	require.True(t, ok)
	right, err := f.attempt(t.Context(), f.file.current(), claim{c, clientOf(r.RemoteAddr), f.fingerprint(c)})
	require.NoError(t, err)
	require.True(t, right)
	require.Equal(t, 1, f.compares)
}

func TestChecksAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, user("ann", "secret"), Options{})
		f.slots = semaphore.NewWeighted(2)
		gate, waiting := f.gate()
		for i := range 10 {
			go f.accepts("ann", fmt.Sprint("guess ", i))
		}
		synctest.Wait()
		require.EqualValues(t, 2, waiting.Load())
		close(gate)
		synctest.Wait()
		require.Equal(t, 10, f.compares)
	})
}

func TestManyGuessesAtOnceAreNotMoreThanManyInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, user("ann", "secret"), Options{MaxFailures: 3})
		gate, _ := f.gate()
		for i := range 20 {
			go f.accepts("ann", fmt.Sprint("guess ", i))
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		require.Equal(t, 3, f.compares)
	})
}

func TestRequestThatGoesAwayHandsItsCheckOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, user("ann", "secret"), Options{MaxFailures: 2})
		f.slots = semaphore.NewWeighted(1)
		gate, _ := f.gate()
		go f.accepts("nobody", "wrong") // holds the only slot, and one of the two failures
		synctest.Wait()

		ctx, leave := context.WithCancel(t.Context())
		var first, second atomic.Bool
		first.Store(true)
		go func() {
			_, ok := f.Authenticate(request("ann", "secret").WithContext(ctx))
			first.Store(ok)
		}()
		synctest.Wait()
		go func() { second.Store(f.accepts("ann", "secret")) }()
		synctest.Wait()

		leave()
		synctest.Wait()
		require.False(t, first.Load())
		close(gate)
		synctest.Wait()
		require.True(t, second.Load(), "with the other failure, which the first had to give back")
		require.Equal(t, 2, f.compares)
	})
}
