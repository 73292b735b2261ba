package rest

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// A key means the same in each spelling: what is read from a field reads the same once a library has written it.
func FuzzIdempotencyKeyField(f *testing.F) {
	for _, line := range []string{"", "a", `"a"`, ` "a" `, `"a\"b\\c";x=1`, `"`, "1", "1.5", ":YQ==:", "?1", "a b", "a;x", `"é"`, "\"a\tb\""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := idempotencyKey(http.Header{"Idempotency-Key": {line}})
		if err != nil {
			require.Equal(t, job.Refuse(job.CodeInvalidIdempotencyKey), err)
			return
		}
		text := line
		if item, err := httpsfv.UnmarshalItem([]string{line}); err == nil && strings.Contains(line, `"`) {
			text = item.Value.(string)
		}
		written, err := httpsfv.Marshal(httpsfv.NewItem(text))
		require.NoError(t, err)
		again, err := idempotencyKey(http.Header{"Idempotency-Key": {written}})
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

// A query that is accepted says the same when it is written anew, and no part of it was ignored.
func FuzzListQuery(f *testing.F) {
	for _, raw := range []string{"", "limit=1", "limit=01", "limit=-1", "cursor=x", "status=FAILED&status=PENDING", "replay=true", "replay=", "x=y", "limit=1;a", "%zz", "limit=1&limit=2"} {
		f.Add(raw)
	}
	names := []string{"limit", "cursor", "status", "replay"}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := parseQuery(raw, names...)
		if err != nil {
			require.Equal(t, job.Refuse(job.CodeInvalidPageRequest), err)
			return
		}
		for name := range query.values {
			require.Contains(t, names, name)
		}
		again, err := parseQuery(query.values.Encode(), names...)
		require.NoError(t, err)
		require.Equal(t, query, again)
		if query.values.Has("limit") {
			require.Equal(t, query.values.Get("limit"), strconv.Itoa(query.page.Limit))
		}
		filter, err := query.filter()
		if err == nil {
			require.Equal(t, query.values.Has("replay"), filter.Replay != nil)
		}
	})
}

// A client takes a type only if it named that type or a wildcard for it, or nothing at all.
func FuzzAccept(f *testing.F) {
	for _, ranges := range []string{"", "*/*", "application/json", "application/*;q=0.5, text/html", "application/json;q=0", "a/b;c=\"d\\\"", ",", "application/json; charset=utf-8"} {
		f.Add(ranges)
	}
	f.Fuzz(func(t *testing.T, ranges string) {
		if !accepts(http.Header{"Accept": {ranges}}, "application/json") || strings.TrimSpace(ranges) == "" {
			return
		}
		named := strings.ToLower(ranges)
		require.True(t, strings.Contains(named, "application/json") || strings.Contains(named, "application/*") ||
			strings.Contains(named, "*/*"))
	})
}
