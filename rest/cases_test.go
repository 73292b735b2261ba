package rest_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// countOfCases is how many numbered cases the table must have.
const countOfCases = 50

// TestFiftyCasesOfHTTPAreAnsweredAsTheTableSays sends what clients, proxies and attackers send, byte for byte.
func TestFiftyCasesOfHTTPAreAnsweredAsTheTableSays(t *testing.T) {
	t.Parallel()
	require.Len(t, httpCases, countOfCases)
	shared := newWorld(t)
	for i, c := range httpCases {
		require.Equal(t, i+1, c.number, "every number has a case")
		require.NotEmpty(t, c.exchanges, c.number)
		t.Run(strconv.Itoa(c.number)+" "+c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, shared)
		})
	}
}

// post, get and list are the requests that most cases begin with.
const (
	post = "POST " + jobsPath
	list = "GET " + jobsPath
	get  = "GET {job}"
)

// submitted is a job for the requests that follow.
var submitted = exchange{send: post, body: batch, status: 202}

// fresh marks a write that no earlier request had done.
var fresh = []string{"Idempotency-Replayed: false"}

// httpCases are the requests of the table. A comment says where the product has decided otherwise than a reader may expect.
var httpCases = []httpCase{
	{number: 1, name: "method that the collection does not have", exchanges: []exchange{
		{send: "DELETE " + jobsPath, code: job.CodeMethodNotAllowed, answer: []string{"Allow: GET, HEAD, POST, OPTIONS"}},
	}},
	{number: 2, name: "unknown path", exchanges: []exchange{
		{send: "GET /api/etl/nope", code: job.CodeRouteNotFound},
	}},
	{number: 3, name: "body of another type", exchanges: []exchange{
		{
			send: post, lines: []string{"Content-Type: text/plain"}, body: batch,
			code: job.CodeUnsupportedMediaType, answer: []string{"Accept-Post: application/json"},
		},
	}},
	{number: 4, name: "body without a type", exchanges: []exchange{
		{
			send: post, lines: []string{"Content-Type:"}, body: batch,
			code: job.CodeUnsupportedMediaType, answer: []string{"Accept-Post: application/json"},
		},
	}},
	{number: 5, name: "spellings of application/json", exchanges: []exchange{
		{
			send: post, lines: []string{"Content-Type: {each}"}, body: batch, status: 202,
			each: []string{"application/json; charset=utf-8", "Application/JSON"},
		},
	}},
	{number: 6, name: "another charset", exchanges: []exchange{
		{
			send: post, lines: []string{"Content-Type: application/json; charset=iso-8859-1"}, body: batch,
			code: job.CodeUnsupportedMediaType, answer: []string{"Accept-Post: application/json"},
		},
	}},
	{number: 7, name: "content coding", exchanges: []exchange{
		{
			send: post, lines: []string{"Content-Encoding: gzip"}, body: batch,
			code: job.CodeUnsupportedMediaType, answer: []string{"Accept-Encoding: identity"},
		},
	}},
	{number: 8, name: "representation that there is not", exchanges: []exchange{
		{send: list, lines: []string{"Accept: text/html"}, code: job.CodeNotAcceptable, answer: []string{"Vary: Accept"}},
	}},
	{number: 9, name: "export by preference", exchanges: []exchange{
		submitted,
		{
			send: get + "/provenance", lines: []string{"Accept: application/ld+json;q=0.9, application/json;q=0"},
			status: 200, answer: []string{"Content-Type: application/ld+json", "Vary: Accept"},
		},
	}},
	{number: 10, name: "HEAD of an item", exchanges: []exchange{
		submitted,
		{send: get, status: 200},
		{send: "HEAD {job}", status: 200, answer: []string{"ETag: {tag}"}, check: headOf},
	}},
	{number: 11, name: "OPTIONS of an item", exchanges: []exchange{
		submitted,
		{send: "OPTIONS {job}", status: 204, answer: []string{"Allow: GET, HEAD, OPTIONS"}, check: withoutBody},
		// There is no CORS, so that nobody asks without credentials.
		{send: "OPTIONS {job}", lines: []string{"Authorization:"}, code: job.CodeAuthenticationRequired},
	}},
	{number: 12, name: "announced length over the limit", exchanges: []exchange{
		// Nothing of this body is ever sent: an answer means that the server did not wait for it.
		{send: post, lines: []string{"Content-Length: 1001"}, code: job.CodePayloadTooLarge, answer: []string{"Connection: close"}},
	}},
	{number: 13, name: "chunks over the limit", exchanges: []exchange{
		{
			send: post, lines: []string{"Transfer-Encoding: chunked", "Content-Length:"}, body: "3e9\r\n" + ofLength(0x3e9) + "\r\n0\r\n\r\n",
			code: job.CodePayloadTooLarge,
		},
	}},
	{number: 14, name: "what is not one document", exchanges: []exchange{
		{send: post, body: "{each}", each: []string{`[{"id":"canary"`, ``, `[] canary`, `[][]`}, code: job.CodeInvalidJSON},
	}},
	{number: 15, name: "repeated member", exchanges: []exchange{
		{
			send: post, body: `[{"id":"a",{each}}]`, code: job.CodeInvalidJSON,
			each: []string{`"id":"a"`, `"x":{"b":1,"b":2}`, `"x":[{"b":{"c":1,"\u0063":1}}]`},
		},
	}},
	{number: 16, name: "unknown member", exchanges: []exchange{
		{send: post, body: `[{"id":"a","anything":{"goes":1}}]`, status: 202}, // records are free-form beyond their id
	}},
	{
		number: 17, name: "nesting", options: []func(*setup){func(s *setup) { s.limits.MaxPayloadBytes = 30_000 }},
		exchanges: []exchange{
			{send: post, body: `[{"id":"a","x":` + nested(62) + `}]`, status: 202}, // 64 levels
			{send: post, body: `[{"id":"a","x":{each}}]`, each: []string{nested(63), nested(9_999)}, code: job.CodeInvalidJSON},
		},
	},
	{number: 18, name: "invalid UTF-8", exchanges: []exchange{
		{send: post, body: "[{\"id\":\"{each}\"}]", each: []string{"\xff", "\xc0\x80", "\xed\xa0\x80"}, code: job.CodeInvalidJSON},
	}},
	{number: 19, name: "byte-order mark", exchanges: []exchange{
		{send: post, body: "\ufeff" + batch, code: job.CodeInvalidJSON},
	}},
	// The texts of problems are fixed: 20 to 23 name places by numbers alone, which TestNothingOfARecordIsToldWhateverIsWrongWithIt sees to.
	{number: 20, name: "NUL", exchanges: []exchange{
		{
			send: post, body: `[{"id":"a",{each}}]`, code: job.CodeInvalidRecord,
			each: []string{`"x":"\u0000"`, `"\u0000":1`, `"x":[{"y":"a\u0000b"}]`},
		},
	}},
	{number: 21, name: "lone surrogate", exchanges: []exchange{
		{send: post, body: `[{"id":"a","x":"{each}"}]`, each: []string{`\ud800`, `\udc00`, `\ud800\ud800`}, code: job.CodeInvalidRecord},
	}},
	{number: 22, name: "number that the database cannot hold", exchanges: []exchange{
		{send: post, body: `[{"id":"a","x":{each}}]`, each: []string{"1e999999", "-1e999999"}, code: job.CodeInvalidRecord},
	}},
	{number: 23, name: "fault of a record", exchanges: []exchange{
		{
			send: post, body: `[{"id":"a"},{each}]`, code: job.CodeInvalidRecord,
			each: []string{`1`, `{"id":1}`, `{}`, `{"id":" "}`, `{"id":"` + strings.Repeat("a", 257) + `"}`},
		},
	}},
	{number: 24, name: "no key", exchanges: []exchange{
		submitted,
		{send: post, lines: []string{"Idempotency-Key:"}, body: batch, code: job.CodeSubmissionKeyRequired},
		{send: "POST {job}/cancellation", lines: []string{"Idempotency-Key:"}, code: job.CodeCancellationKeyRequired},
		{send: "POST {job}/replays", lines: []string{"Idempotency-Key:"}, body: batch, code: job.CodeReplayKeyRequired},
	}},
	{number: 25, name: "two lines of keys", exchanges: []exchange{
		{
			send: post, lines: []string{`Idempotency-Key: "canary"`, `Idempotency-Key: "{each}"`}, body: batch,
			each: []string{"canary", "another"}, code: job.CodeInvalidIdempotencyKey,
		},
	}},
	{number: 26, name: "escapes in a key", exchanges: []exchange{
		{send: post, lines: []string{`Idempotency-Key: "a\"b\\c"`}, body: batch, status: 202, answer: fresh},
		{send: post, lines: []string{"Idempotency-Key: " + writtenKey(`a"b\c`)}, body: batch, status: 202, check: sameJob},
	}},
	{number: 27, name: "what is no key", exchanges: []exchange{
		{
			send: post, lines: []string{"Idempotency-Key: {each}"}, body: batch, code: job.CodeInvalidIdempotencyKey,
			each: []string{`"fü"`, `"a\x"`, `'a'`, `:YQ==:`, `%"a"`, `@1`, `"a`},
		},
		// The bare form is a key too: the same one as its quoted form.
		{send: post, lines: []string{"Idempotency-Key: abc"}, body: batch, status: 202, answer: fresh},
		{send: post, lines: []string{`Idempotency-Key: "abc"`}, body: batch, status: 202, check: sameJob},
		{send: post, lines: []string{"Idempotency-Key: 1"}, body: batch, status: 202, answer: fresh},
		{send: post, lines: []string{`Idempotency-Key: "1"`}, body: batch, status: 202, check: sameJob},
	}},
	{number: 28, name: "empty key", exchanges: []exchange{
		{send: post, lines: []string{`Idempotency-Key: ""`}, body: batch, code: job.CodeSubmissionKeyRequired},
	}},
	{number: 29, name: "long key", exchanges: []exchange{
		{send: post, lines: []string{"Idempotency-Key: " + quoted(strings.Repeat("k", 255))}, body: batch, status: 202},
		{send: post, lines: []string{"Idempotency-Key: " + quoted(strings.Repeat("k", 256))}, body: batch, code: job.CodeInvalidIdempotencyKey},
	}},
	{number: 30, name: "parameter of a key", exchanges: []exchange{
		{send: post, lines: []string{`Idempotency-Key: "canary p";x=1`}, body: batch, status: 202, answer: fresh},
		{send: post, lines: []string{`Idempotency-Key: "canary p"`}, body: batch, status: 202, check: sameJob},
	}},
	{number: 31, name: "the same key again", options: alone, exchanges: []exchange{
		{send: post, body: batch, status: 202, answer: fresh},
		{send: post, body: batch, status: 202, check: sameJob},
		{send: list, status: 200, check: ofJobs(1)},
	}},
	{number: 32, name: "the same key for something else", exchanges: []exchange{
		submitted,
		{send: post, body: batch + " ", code: job.CodeSubmissionKeyReused},
		// For another operation the same text is another key.
		{send: "POST {job}/cancellation", status: 200, answer: fresh},
		{send: "POST {job}/replays", body: batch, status: 202, answer: fresh},
	}},
	{number: 33, name: "the same key while the first request is undecided", options: impatient, exchanges: []exchange{
		submitted,
		{
			before: func(w *world) { w.hold("DELETE FROM etl_job_records") }, send: post, body: batch,
			code: job.CodeSubmissionInProgress, answer: []string{"Retry-After: 1"},
		},
	}},
	{number: 34, name: "the same key of another user", exchanges: []exchange{
		submitted,
		{send: post, lines: []string{basic("bob")}, body: batch, status: 202, check: anotherJob},
	}},
	{number: 35, name: "tag that is known", exchanges: []exchange{
		submitted,
		{send: get, status: 200},
		{
			send: get, lines: []string{"If-None-Match: {each}"}, status: 304,
			each:   []string{`{opaque}`, `{tag}`, `"a", {tag} ,"b"`, `"a,b", {opaque}`},
			answer: []string{"ETag: {tag}", "Cache-Control: no-store", "Vary: Accept", "Content-Type:"}, check: withoutBody,
		},
		{
			send: get, lines: []string{`If-None-Match: "a"`, "If-None-Match: {tag}"}, status: 304,
			answer: []string{"ETag: {tag}", "Cache-Control: no-store", "Vary: Accept", "Content-Type:"}, check: withoutBody,
		},
	}},
	{number: 36, name: "any tag", exchanges: []exchange{
		submitted,
		{send: get, lines: []string{"If-None-Match: *"}, status: 304},
		{send: list + "/019b0000-0000-7000-8000-000000000001", lines: []string{"If-None-Match: *"}, code: job.CodeJobNotFound},
	}},
	{number: 37, name: "malformed tag", exchanges: []exchange{
		submitted,
		{send: get, lines: []string{"If-None-Match: {each}"}, each: []string{`x`, `"`, `W/x`}, status: 200},
	}},
	{number: 38, name: "no credential", exchanges: []exchange{
		{
			send: list, lines: []string{"Authorization:{each}"}, code: job.CodeAuthenticationRequired,
			each:   []string{"", " Basic", " Basic %%%", " Basic YWxpY2U=", " Bearer x"},
			answer: []string{`WWW-Authenticate: Basic realm="fencepost", charset="UTF-8"`},
		},
	}},
	{number: 39, name: "credential that is none", exchanges: []exchange{
		{
			send: list, lines: []string{"Authorization: Basic {each}"}, code: job.CodeAuthenticationRequired,
			each: []string{"/////w==", "YWwAaWNlOng="}, // not UTF-8, and a NUL in the name
		},
		{send: list, lines: []string{basic("alice"), basic("alice")}, code: job.CodeAuthenticationRequired},
	}},
	{number: 40, name: "credential with everything that RFC 7617 allows", exchanges: []exchange{
		{send: list, lines: []string{basic("alice")}, status: 200}, // the password has a colon and an umlaut
		{send: list, lines: []string{strings.Replace(basic("alice"), "Basic", "basic", 1)}, status: 200},
	}},
	{number: 41, name: "id in upper case", exchanges: []exchange{
		submitted,
		{send: list + "/{ID}", code: job.CodeJobNotFound}, // only the canonical form names a job
	}},
	{number: 42, name: "other forms of an id", exchanges: []exchange{
		submitted,
		{
			send: list + "/{each}", code: job.CodeJobNotFound,
			each: []string{"%7B{id}%7D", "urn:uuid:{id}", "{hex}", "x{id}x", "%00", "%ff", "%2F", "{id}%2F", "{id}%00", "{id};a=b"},
		},
	}},
	{number: 43, name: "almost a route", exchanges: []exchange{
		submitted,
		{
			send: "GET {each}", code: job.CodeRouteNotFound, answer: []string{"Location:"},
			each: []string{
				"{job}/", jobsPath + "/", "/api//etl/jobs", jobsPath + "//{id}", "/api/etl/x/../jobs", "/api/etl/x/%2e%2e/jobs",
				jobsPath + ";a=b", "/../../etc/passwd",
			},
		},
	}},
	{number: 44, name: "pages", options: alone, exchanges: []exchange{
		{send: post, lines: []string{`Idempotency-Key: "{each}"`}, each: []string{"a", "b", "c"}, body: batch, status: 202},
		{send: list + "?limit=2", status: 200, check: ofJobs(2)},
		{send: post, lines: []string{`Idempotency-Key: "d"`}, body: batch, status: 202},
		{send: "GET {next}", status: 200, answer: []string{"Link:"}, check: ofJobs(1)},
	}},
	{number: 45, name: "bad page requests", options: alone, exchanges: []exchange{
		{send: post, lines: []string{`Idempotency-Key: "{each}"`}, each: []string{"a", "b"}, body: batch, status: 202},
		{send: list + "?limit=1", status: 200},
		{send: "GET {next}&status=FAILED", code: job.CodeInvalidPageRequest}, // a cursor belongs to its filters
		{
			send: list + "?{each}", code: job.CodeInvalidPageRequest,
			each: []string{"cursor=garbage", "limit=0", "limit=-1", "limit=1e9", "limit=abc", "limit=1&limit=1"},
		},
	}},
	{number: 46, name: "too many writes", options: limited, exchanges: []exchange{
		submitted,
		// Retry-After says all that the contract asks for: there are no RateLimit fields.
		{send: post, body: batch, code: job.CodeRateLimited, answer: []string{"Retry-After: 10", "RateLimit:", "RateLimit-Policy:"}},
	}},
	{number: 47, name: "no database", options: unreachable, exchanges: []exchange{
		{send: list, code: job.CodeDatabaseUnavailable, answer: []string{"Retry-After: 1"}},
	}},
	{number: 48, name: "place of a new job", exchanges: []exchange{
		submitted,
		{send: get, status: 200, answer: []string{"Retry-After: 2"}},
	}},
	{number: 49, name: "body that a refusal does not wait for", exchanges: []exchange{
		// The body is not sent: what comes first is the refusal, and not 100 Continue.
		{
			send: post, lines: []string{"Authorization: Basic YWxpY2U6d3Jvbmc=", "Expect: 100-continue", "Content-Length: 10"},
			code: job.CodeAuthenticationRequired,
		},
	}},
	{number: 50, name: "line ends in values", exchanges: []exchange{
		{send: list + "/%0d%0aEvil:%20x", code: job.CodeJobNotFound, answer: []string{"Evil:"}},
		{send: "GET /api/%0d%0aEvil:%20x", code: job.CodeRouteNotFound, answer: []string{"Evil:"}},
		{
			send: list + "?{each}=%0d%0aEvil:%20x", each: []string{"cursor", "status"},
			code: job.CodeInvalidPageRequest, answer: []string{"Evil:"},
		},
		{send: post, lines: []string{`Idempotency-Key: "%0d%0aEvil: x"`}, body: batch, status: 202, answer: []string{"Evil:"}},
	}},
}
