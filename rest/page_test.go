package rest_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/peterhellberg/link"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// follow reads a list to its end by its Link fields, and calls between after each page.
func (w *world) follow(target string, between func()) []string {
	w.Helper()
	var ids []string
	for target != "" {
		page := w.get(target).require(200)
		ids = append(ids, page.ids()...)
		target = page.next()
		between()
	}
	return ids
}

// next is the target of rel="next", which must say the same as the body. It is read by a library for RFC 8288.
func (a answer) next() string {
	a.t.Helper()
	links, cursor := link.ParseHeader(a.header), a.members()["nextCursor"]
	if cursor == nil {
		require.Empty(a.t, links)
		return ""
	}
	require.Len(a.t, links, 1)
	next := links["next"]
	require.Equal(a.t, &link.Link{URI: next.URI, Rel: "next", Extra: map[string]string{}}, next)
	u, err := url.Parse(next.URI)
	require.NoError(a.t, err)
	require.Equal(a.t, cursor, u.Query().Get("cursor"))
	require.Equal(a.t, a.path, u.Path)
	return next.URI
}

func TestPagesHaveEachJobOnceUnderConcurrentInserts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var before []string
	for range 7 {
		before = append(before, idIn(w.pending()))
	}
	slices.Reverse(before)
	w.submit(batch, `"canary"`, basic("bob")).require(202)
	require.Equal(t, before, w.follow(jobsPath, func() {}), "newest first, and nobody else's")

	seen := w.follow(jobsPath+"?limit=2", func() { w.pending() })
	require.Equal(t, before, seen)

	all := w.follow(jobsPath+"?limit=1", func() {})
	require.Len(t, all, 11, "four pages were read, each with a new job behind it")
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 11)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failed, cancelled := idIn(w.failed()), w.cancelled()
	replay := idIn(w.replay(cancelled, batch, `"canary"`).require(202).header.Get("Location"))
	for query, want := range map[string][]string{
		"status=FAILED":                           {failed},
		"status=CANCELLED&status=FAILED":          {idIn(cancelled), failed},
		"status=FAILED&status=FAILED":             {failed},
		"status=RUNNING":                          {},
		"replay=true":                             {replay},
		"replay=false":                            {idIn(cancelled), failed},
		"replay=true&status=FAILED":               {},
		"replay=false&limit=100&status=CANCELLED": {idIn(cancelled)},
	} {
		require.Equal(t, want, w.get(jobsPath+"?"+query).require(200).ids(), query)
	}
	require.JSONEq(t, `{"jobs":[]}`, w.get(jobsPath+"?status=RUNNING").body)

	next := w.get(jobsPath + "?limit=1&status=FAILED&status=CANCELLED&replay=false").require(200).next()
	require.Equal(t, []string{failed}, w.get(next).require(200).ids(), "the link keeps the filters")
	cursor := url.Values{"cursor": {mustParse(t, next).Query().Get("cursor")}}.Encode()
	w.get(jobsPath + "?status=CANCELLED&status=FAILED&replay=false&" + cursor).require(200)
	for _, other := range []string{"", "status=FAILED&", "status=FAILED&status=CANCELLED&", "replay=false&"} {
		w.get(jobsPath + "?" + other + cursor).refused(job.CodeInvalidPageRequest)
	}
	w.get(cancelled + "/lineage?" + cursor).refused(job.CodeInvalidPageRequest)
}

func mustParse(t *testing.T, target string) *url.URL {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	return u
}

func TestPageRequestsAreStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	page := []string{
		"limit=0", "limit=-1", "limit=101", "limit=1e9", "limit=abc", "limit=", "limit=+1", "limit=01", "limit=1.0", "limit=%201", "limit=99999999999999999999",
		"limit=1&limit=1", "limit=1;cursor=x", "limit=%zz", "LIMIT=1", "cursor=", "cursor=x", "cursor=x&cursor=x", "cursor=%00", "offset=1",
		"cursor=" + strings.Repeat("A", 34), "=1", "limit",
	}
	for _, query := range append(page, "status=", "status=failed", "status=FAILED,CANCELLED", "status", "replay=1", "replay=", "replay=TRUE", "replay=true&replay=true") {
		w.get(jobsPath + "?" + query).refused(job.CodeInvalidPageRequest)
	}
	for _, query := range append(page, "status=FAILED", "replay=true") {
		w.get(path + "/lineage?" + query).refused(job.CodeInvalidPageRequest)
	}
	w.get(jobsPath + "?limit=1").require(200)
	w.get(jobsPath + "?limit=100").require(200)
	w.get(jobsPath + "?").require(200)
	w.get(path + "?anything=goes").require(200)
}

func TestLineagePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.cancelled()
	first := w.replay(root, batch, `"1"`).require(202).header.Get("Location")
	w.cancel(first, `"c"`).require(200)
	second := w.replay(root, batch, `"2"`).require(202).header.Get("Location")
	third := w.replay(first, batch, `"3"`).require(202).header.Get("Location")
	w.pending() // of another lineage
	want := []string{idIn(root), idIn(first), idIn(second), idIn(third)}

	for _, path := range []string{root, first, third} {
		whole := w.get(path + "/lineage").require(200)
		require.Equal(t, want, whole.ids(), "by generation, then by creation")
		members := whole.members()
		require.Equal(t, []any{idIn(root), idIn(path), 3.0, 4.0}, []any{
			members["rootJobRecordId"], members["jobRecordId"], members["generationCount"], members["jobCount"],
		})
		require.Equal(t, []any{
			edge(root, first, 1), edge(root, second, 1), edge(first, third, 2),
		}, members["edges"])
		require.Equal(t, want, w.follow(path+"/lineage?limit=1", func() {}))
	}
	last := w.get(w.get(root + "/lineage?limit=3").require(200).next()).require(200)
	require.Equal(t, []any{edge(first, third, 2)}, last.members()["edges"], "an edge is on the page of its derived job")

	alone := w.get(w.pending() + "/lineage").require(200)
	require.Equal(t, []any{1.0, 1.0, []any{}}, []any{
		alone.members()["generationCount"], alone.members()["jobCount"], alone.members()["edges"],
	})
}

func edge(source, derived string, generation float64) map[string]any {
	return map[string]any{"sourceJobRecordId": idIn(source), "derivedJobRecordId": idIn(derived), "generation": generation}
}

func TestProvenanceIsTheLineageAsAGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.cancelled()
	derived := w.replay(root, batch, `"canary"`).require(202).header.Get("Location")
	a := w.get(derived + "/provenance").require(200)
	require.Equal(t, a.body, w.get(root+"/provenance").require(200).body, "one document a lineage")

	types := map[string]string{}
	for _, node := range a.members()["@graph"].([]any) {
		types[node.(map[string]any)["@id"].(string)] = node.(map[string]any)["@type"].(string)
	}
	require.Equal(t, map[string]string{
		"urn:fencepost:agent:service":           "prov:SoftwareAgent",
		"urn:uuid:" + idIn(root):                "prov:Entity",
		"urn:uuid:" + idIn(derived):             "prov:Entity",
		"urn:uuid:" + idIn(derived) + "#replay": "prov:Activity",
	}, types)
}

func TestPagesHoldFiftyJobsUnlessTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 51 {
		w.submit(`[{"id":"`+strconv.Itoa(i)+`"}]`, quoted(uuid.NewString())).require(202)
	}
	first := w.get(jobsPath).require(200)
	require.Len(t, first.ids(), job.DefaultPageSize)
	require.Len(t, w.get(first.next()).require(200).ids(), 1)
}
