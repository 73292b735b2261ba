package rest_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestOneKeyHasManySpellings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	longest := strings.Repeat("k", 255)
	for meaning, spellings := range map[string][]string{
		"a":                {`"a"`, `a`, `"a";x=1`, `"a"; x`, `"a";x="b";y=?0`, ` "a" `},
		"1":                {`"1"`, `1`},
		"a:b":              {`"a:b"`, `a:b`},
		"key-1._~:":        {`"key-1._~:"`, `key-1._~:`},
		"client key":       {`"client key"`},
		` `:                {`" "`},
		`a"b\c`:            {`"a\"b\\c"`, `"a\"b\\c";again`},
		`a;x=1`:            {`"a;x=1"`},
		"!#$%&'()*+,/<=>?": {`"!#$%&'()*+,/<=>?"`},
		longest:            {quoted(longest), longest},
	} {
		// The library that writes a key is told its meaning; what the server read must have been the same.
		written := writtenKey(meaning)
		body := `[{"id":"a","x":"` + strings.Trim(written, `"`) + `"}]`
		first := w.submit(body, written).require(202)
		require.Equal(t, "false", first.header.Get("Idempotency-Replayed"), meaning)
		for _, spelling := range spellings {
			again := w.submit(body, spelling).require(202)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"), spelling)
			require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
			require.Equal(t, first.body, again.body)
		}
	}
}

// writtenKey is a key as the library writes it. Each text in these tests can be written.
func writtenKey(text string) string {
	written, err := httpsfv.Marshal(httpsfv.NewItem(text))
	if err != nil {
		panic(err)
	}
	return written
}

// TestKeysInTheGuideAreStructuredStrings reads each example as a client's library would.
func TestKeysInTheGuideAreStructuredStrings(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/rest.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("Idempotency-Key: ([^'`]+)").FindAllSubmatch(guide, -1)
	require.NotEmpty(t, examples)
	for _, example := range examples {
		item, err := httpsfv.UnmarshalItem([]string{string(example[1])})
		require.NoError(t, err, "%s", example[1])
		require.IsType(t, "", item.Value)
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, value := range []string{
		`"fü"`, `"a\x"`, `'a'`, `"a`, `a"`, `"a" "b"`, `"a", "b"`, `a b`, `a,b`, `a;x=1`, `:YQ==:`, `%"a"`, `@1`, `?1`, `1;x`, `*a`, `a/b`, `a+b`,
		`("a")`, `"a";X=1`, `"a";x=`, `"a";`, `"a";=1`, "\"a\tb\"", quoted(strings.Repeat("k", 256)), strings.Repeat("k", 256), `"\`,
	} {
		w.submit(batch, value).refused(job.CodeInvalidIdempotencyKey)
	}
	for _, second := range []string{`"canary"`, `"another"`} {
		w.submit(batch, `"canary"`, "Idempotency-Key: "+second).refused(job.CodeInvalidIdempotencyKey)
	}
	for _, missing := range []string{"", `""`, `"";x=1`} {
		w.submit(batch, missing).refused(job.CodeSubmissionKeyRequired)
		w.cancel(jobsPath+"/x", missing).refused(job.CodeCancellationKeyRequired)
		w.replay(jobsPath+"/x", batch, missing).refused(job.CodeReplayKeyRequired)
	}
	head := "POST " + jobsPath + "/x/cancellation HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + basic("alice") + "\r\n"
	w.raw(head + "Idempotency-Key:\r\n\r\n").refused(job.CodeCancellationKeyRequired)
	w.raw(head + "Idempotency-Key:\r\nidempotency-key: \"a\"\r\n\r\n").refused(job.CodeInvalidIdempotencyKey)
	w.raw(head + "Idempotency-Key: a\r\nidempotency-key: a\r\n\r\n").refused(job.CodeInvalidIdempotencyKey)
}

func TestOneTextIsThreeKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submitted := w.submit(batch, `"canary"`).require(202)
	require.Equal(t, http.Header{"Idempotency-Replayed": {"false"}}, only(submitted.header, "Idempotency-Replayed"))
	path := submitted.header.Get("Location")

	cancelled := w.cancel(path, `"canary"`).require(200)
	require.Equal(t, "false", cancelled.header.Get("Idempotency-Replayed"))
	again := w.cancel(path, `"canary"`).require(200)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, cancelled.body, again.body)
	require.Equal(t, cancelled.header.Get("ETag"), again.header.Get("ETag"))

	replayed := w.replay(path, batch, `"canary"`).require(202)
	require.Equal(t, "false", replayed.header.Get("Idempotency-Replayed"))
	require.NotEqual(t, path, replayed.header.Get("Location"))
	require.Equal(t, "true", w.replay(path, batch, `"canary"`).require(202).header.Get("Idempotency-Replayed"))

	// Another owner's keys are his own.
	foreign := w.submit(batch, `"canary"`, basic("bob")).require(202)
	require.Equal(t, "false", foreign.header.Get("Idempotency-Replayed"))
	require.NotEqual(t, path, foreign.header.Get("Location"))
}

// only leaves one field of a header.
func only(header http.Header, name string) http.Header { return http.Header{name: header.Values(name)} }

func TestConcurrentRequestsUnderOneKeyMakeOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const clients = 8
	answers := make(chan answer, clients)
	for range clients {
		go func() { answers <- w.submit(batch, `"canary"`) }()
	}
	replayed := map[string]int{}
	paths := map[string]bool{}
	for range clients {
		a := (<-answers).require(202)
		replayed[a.header.Get("Idempotency-Replayed")]++
		paths[a.header.Get("Location")] = true
	}
	require.Equal(t, map[string]int{"false": 1, "true": clients - 1}, replayed)
	require.Len(t, paths, 1)
}
