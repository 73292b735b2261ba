package client_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/jobtype"
)

func TestLineageHoldsTheRootAndEveryReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	root := w.cancelled(c)
	first, second := w.replay(c, root), w.replay(c, root)

	l, err := c.Lineage(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, root, l.RootID)
	require.Equal(t, second, l.JobID)
	require.Equal(t, 2, l.GenerationCount)
	require.Equal(t, 3, l.JobCount)
	require.Len(t, l.Jobs, 3)
	require.Equal(t, []client.Edge{{root, first, 1}, {root, second, 1}}, l.Edges)

	_, err = c.Lineage(t.Context(), uuid.New())
	requireProblem(t, err, jobtype.CodeJobNotFound)
}

func TestProvenanceIsAJSONLDDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	document, err := c.Provenance(t.Context(), w.submit(c))
	require.NoError(t, err)
	var ld struct {
		Context any `json:"@context"`
	}
	require.NoError(t, json.Unmarshal(document, &ld))
	require.NotNil(t, ld.Context)
}

// A hundred and one jobs take two pages, the first of which ends in generation 2. What is replayed in between belongs on
// the first page and its own replay on the second one.
func TestLineageThatGrowsBetweenItsPagesIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client()
	root := w.cancelled(c)
	child := w.replay(c, root)
	w.cancel(c, child)
	for range 99 {
		w.replay(c, child)
	}
	grow := func() {
		late := w.replay(c, root)
		w.cancel(c, late)
		w.replay(c, late)
	}

	w.betweenPages(1, grow)
	l, err := c.Lineage(t.Context(), child)
	require.NoError(t, err)
	require.Equal(t, 103, l.JobCount)
	require.Len(t, l.Jobs, 103)
	require.Len(t, l.Edges, 102)

	w.betweenPages(1000, grow)
	_, err = c.Lineage(t.Context(), child)
	require.ErrorContains(t, err, "kept growing")
}

// betweenPages does something before the second page of a lineage is answered, the first n times.
func (w *world) betweenPages(n int64, do func()) {
	var done atomic.Int64
	front := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("cursor") && done.Add(1) <= n {
				do()
			}
			next.ServeHTTP(rw, r)
		})
	}
	w.front.Store(&front)
}
