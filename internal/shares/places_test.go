package shares_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"fencepost/internal/shares"
)

// line has calls of owners, named by letters, ask one after the other for a place. The answer tells who has come to one so far.
func line(ctx context.Context, p *shares.Places[rune], owners string) (served func() string) {
	came := make(chan rune, len(owners))
	for _, owner := range owners {
		go func() {
			if p.Take(ctx, owner) == nil {
				came <- owner
			}
		}()
		synctest.Wait()
	}
	return func() string {
		synctest.Wait()
		text := ""
		for len(came) > 0 {
			text += string(<-came)
		}
		return text
	}
}

func TestOwnersThatWaitTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := shares.NewPlaces[rune](1, 1)
		served := line(t.Context(), p, "aaaabbcaa")
		order := served()
		for p.Waiting() > 0 {
			p.Give(rune(order[len(order)-1]))
			order += served()
		}
		require.Equal(t, "aabcabaaa", order)
	})
}

func TestNoOwnerHasAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := shares.NewPlaces[rune](4, 2)
		served := line(t.Context(), p, "aaaaabbcc")
		require.Equal(t, "aabb", served())
		require.Equal(t, 5, p.Waiting())
		p.Give('b')
		require.Equal(t, "c", served(), "and none goes to who has two")
		p.Give('a')
		require.Equal(t, "a", served())
		p.Give('b')
		require.Equal(t, "c", served())
		p.Give('c')
		require.Empty(t, served())
		p.Give('a')
		require.Equal(t, "a", served())
	})
}

func TestWhoLeavesTheLineHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := shares.NewPlaces[rune](1, 1)
		require.NoError(t, p.Take(t.Context(), 'a'))
		gone := errors.New("gone")
		leaving, leave := context.WithCancelCause(t.Context())
		first, second := line(leaving, p, "bb"), line(t.Context(), p, "bc")
		leave(gone)
		synctest.Wait()
		require.Equal(t, 2, p.Waiting())
		require.ErrorIs(t, p.Take(leaving, 'd'), gone)
		p.Give('a')
		require.Equal(t, "b", second())
		p.Give('b')
		require.Equal(t, "c", second())
		p.Give('c')
		require.Empty(t, first())
		require.NoError(t, p.Take(t.Context(), 'e'), "the place is free again")
	})
}

func TestPlaceOfWhoHasLeftAtTheSameMomentIsGivenBack(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	p := shares.NewPlaces[rune](1, 1)
	for range 100 { // select chooses at random
		if p.Take(gone, 'a') == nil {
			p.Give('a')
		}
	}
	require.NoError(t, p.Take(t.Context(), 'b'))
}
