package feed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/feed"
	"fencepost/internal/job"
)

var (
	ann = job.OwnerOf("ann")
	bob = job.OwnerOf("bob")
)

func TestAnOwnerAndTheProcessTakeNoMoreThanTheirLimits(t *testing.T) {
	t.Parallel()
	q := feed.NewQuota(feed.Limits{PerOwner: 2, Total: 3})
	require.True(t, q.Take(ann))
	require.True(t, q.Take(ann))
	require.False(t, q.Take(ann), "over the owner's limit")
	require.True(t, q.Take(bob))
	require.False(t, q.Take(bob), "over the limit of all")
	require.Equal(t, 3, q.Taken())
	q.Give(ann)
	require.True(t, q.Take(bob))
	q.Give(bob)
	q.Give(bob)
	q.Give(ann)
	require.True(t, q.Take(ann), "what is given back can be taken again")
}
