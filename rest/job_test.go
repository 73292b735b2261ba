package rest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepresentationOfEachStatus(t *testing.T) {
	t.Parallel()
	always := []string{"attemptCount", "createdAt", "jobRecordId", "jobStatus", "recordCount", "updatedAt"}
	replay := []string{"replayGenerationCount", "replayRootJobRecordId", "replaySourceJobRecordId"}
	for status, row := range map[string]struct {
		make   func(*world) string
		also   []string
		active bool
	}{
		"PENDING":   {make: (*world).pending, active: true},
		"RUNNING":   {make: (*world).running, also: []string{"attemptStartedAt"}, active: true},
		"SUCCEEDED": {make: (*world).succeeded, also: []string{"attemptStartedAt"}},
		"FAILED":    {make: (*world).failed, also: []string{"failureCode", "attemptStartedAt"}},
		"CANCELLED": {make: (*world).cancelled, also: []string{"cancellationCode", "jobCancelledAt"}},
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := row.make(w)
			a := w.get(path).require(200)
			require.ElementsMatch(t, append(row.also, always...), slices.Collect(maps.Keys(a.members())))
			require.Equal(t, status, a.members()["jobStatus"])
			require.Equal(t, idIn(path), a.members()["jobRecordId"])
			require.Equal(t, "no-store", a.header.Get("Cache-Control"))

			unchanged := w.get(path, "If-None-Match: "+a.header.Get("ETag")).require(304)
			for _, polled := range []answer{a, unchanged} {
				if row.active {
					require.Equal(t, 2, polled.seconds("Retry-After"), "a second and a half, rounded up")
				} else {
					require.Empty(t, polled.header.Get("Retry-After"))
				}
			}
		})
	}
	t.Run("replay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a := w.get(w.replay(w.cancelled(), batch, `"canary"`).require(202).header.Get("Location")).require(200)
		require.ElementsMatch(t, append(replay, always...), slices.Collect(maps.Keys(a.members())))
	})
}

func TestAcceptedJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submitted := w.submit(batch, `"canary"`).require(202)
	path := submitted.header.Get("Location")
	require.Equal(t, map[string]any{"jobRecordId": idIn(path), "jobStatus": "PENDING", "statusUrl": path}, submitted.members())
	require.Equal(t, "no-store", submitted.header.Get("Cache-Control"))
	require.Empty(t, submitted.header.Get("ETag"), "the body is no representation of the resource")
	w.get(path).require(200)

	cancelled := w.cancel(path, `"canary"`).require(200)
	got := w.get(path).require(200)
	require.Equal(t, got.body, cancelled.body)
	require.Equal(t, got.header.Get("ETag"), cancelled.header.Get("ETag"))
	require.Equal(t, path, cancelled.header.Get("Content-Location"))
	require.Equal(t, "CANCELLED", w.submit(batch, `"canary"`).require(202).members()["jobStatus"], "the state now")

	first := w.replay(path, batch, `"canary"`).require(202)
	firstPath := first.header.Get("Location")
	require.Equal(t, map[string]any{
		"jobRecordId": idIn(firstPath), "jobStatus": "PENDING", "statusUrl": firstPath,
		"replaySourceJobRecordId": idIn(path), "replayRootJobRecordId": idIn(path), "replayGenerationCount": 1.0,
	}, first.members())
	require.Equal(t, got.body, w.get(path).body, "the source stays as it is")

	w.cancel(firstPath, `"canary"`).require(200)
	second := w.replay(firstPath, batch, `"k2"`).require(202)
	members := second.members()
	require.Equal(t, []any{idIn(firstPath), idIn(path), 2.0}, []any{
		members["replaySourceJobRecordId"], members["replayRootJobRecordId"], members["replayGenerationCount"],
	})
}

func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	tag := w.get(path).header.Get("ETag")
	require.True(t, strings.HasPrefix(tag, `W/"`))
	opaque := strings.TrimPrefix(tag, "W/")

	for _, matching := range [][]string{
		{tag}, {opaque}, {`"a", ` + tag + ` ,"b"`}, {`"a"`, tag}, {tag, `"a"`}, {`"a,b", ` + opaque}, {`, ,` + tag + `,`}, {"*"}, {`"x"` + "\t, " + opaque},
	} {
		a := w.get(path, prefixed("If-None-Match: ", matching)...).require(304)
		require.Empty(t, a.body)
		require.Equal(t, []string{tag, "no-store", "Accept", ""}, []string{
			a.header.Get("ETag"), a.header.Get("Cache-Control"), a.header.Get("Vary"), a.header.Get("Content-Type"),
		})
	}
	for _, other := range [][]string{
		{`"a"`},
		{`W/"a"`},
		{strings.Trim(opaque, `"`)},
		{tag + " x"},
		{"x, " + tag},
		{`"`},
		{`*, ` + tag},
		{"*", "*"},
		{`w/` + opaque},
		{`"a" ` + tag},
		{strings.ToUpper(opaque) + `"`},
		{"W/"},
		{`""`},
		{"\"\xff\""},
	} {
		w.get(path, prefixed("If-None-Match: ", other)...).require(200)
	}
	w.get(jobsPath+"/x", "If-None-Match: *").require(404)

	w.claim()
	changed := w.get(path, "If-None-Match: "+tag).require(200)
	require.NotEqual(t, tag, changed.header.Get("ETag"))
	require.Equal(t, 200, w.cancel(path, `"canary"`, "If-None-Match: *").status, "a write has no such condition")
}

func TestEveryReadHasAnEntityTag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.cancelled()
	targets := []string{jobsPath, path, path + "/lineage", path + "/provenance"}
	tags := map[string]string{}
	for _, target := range targets {
		tags[target] = w.get(target).require(200).header.Get("ETag")
		w.get(target, "If-None-Match: "+tags[target]).require(304)
	}
	w.replay(path, batch, `"canary"`).require(202)
	for _, target := range targets {
		status := map[bool]int{true: 304, false: 200}[target == path] // only the source itself has not changed
		w.get(target, "If-None-Match: "+tags[target]).require(status)
	}
}

func prefixed(prefix string, values []string) []string {
	var fields []string
	for _, value := range values {
		fields = append(fields, prefix+value)
	}
	return fields
}
