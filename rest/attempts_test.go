package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// outcomes are those of a page of attempts.
func outcomes(a answer) (all []any) {
	for _, attempt := range a.members()["attempts"].([]any) {
		all = append(all, attempt.(map[string]any)["attemptOutcome"])
	}
	return all
}

func TestAttemptsThatDidNotEndTheJobAreToldInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	require.Equal(t, map[string]any{"attempts": []any{}}, w.get(path+"/attempts").require(200).members())
	require.NoError(t, w.store.Retry(t.Context(), w.claim(), worker.Return{Outcome: job.AttemptRetried, SQLState: "40001"}))
	late := w.claim()
	w.cancel(path, `"cancel"`).require(200)
	require.NoError(t, w.store.RefusedLate(t.Context(), late))

	whole := w.get(path + "/attempts").require(200)
	require.Equal(t, []any{"retried", "refused_late"}, outcomes(whole))
	first := whole.members()["attempts"].([]any)[0].(map[string]any)
	require.Equal(t, []any{1.0, "40001"}, []any{first["attemptNumber"], first["sqlState"]})
	require.Regexp(t, `^20\d\d-.*\.\d{6}Z$`, first["startedAt"])
	require.NotContains(t, whole.members()["attempts"].([]any)[1], "sqlState")
	w.get(path+"/attempts", "If-None-Match: "+whole.header.Get("ETag")).require(304)

	page := w.get(path + "/attempts?limit=1").require(200)
	require.Equal(t, []any{"retried"}, outcomes(page))
	require.Equal(t, []any{"refused_late"}, outcomes(w.get(page.next()).require(200)))
	cursor := "?cursor=" + page.members()["nextCursor"].(string)
	for _, other := range []string{w.pending() + "/attempts" + cursor, path + "/lineage" + cursor, path + "/attempts?cursor=AAAA", path + "/attempts?limit=0", path + "/attempts?status=FAILED"} {
		w.get(other).refused(job.CodeInvalidPageRequest)
	}
}
