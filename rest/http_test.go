package rest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/jobtype"
)

func TestBodiesOfSubmissions(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		body string
		code job.Code // "" is accepted
	}{
		"no records":               {`[]`, ""},
		"64 levels":                {`[{"id":"a","x":` + nested(62) + `}]`, ""},
		"at the limit":             {ofLength(1000), ""},
		"at the limit of records":  {ofRecords(10), ""},
		"every kind of value":      {`[{"id":"ä\n 😀","x":[null,true,-0.5e-3,{}]}]`, job.CodeInvalidRecord},
		"surrogate pair":           {`[{"id":"\ud83d\ude00"}]`, ""},
		"empty":                    {``, job.CodeInvalidJSON},
		"malformed":                {`[{"id":"a"}`, job.CodeInvalidJSON},
		"trailing bytes":           {`[] x`, job.CodeInvalidJSON},
		"two documents":            {`[][]`, job.CodeInvalidJSON},
		"an object":                {`{}`, job.CodeInvalidJSON},
		"repeated member":          {`[{"id":"a","id":"b"}]`, job.CodeInvalidJSON},
		"repeated member, escaped": {`[{"id":"a","x":{"b":1,"\u0062":2}}]`, job.CodeInvalidJSON},
		"65 levels":                {`[{"id":"a","x":` + nested(63) + `}]`, job.CodeInvalidJSON},
		"invalid UTF-8":            {"[{\"id\":\"\xff\"}]", job.CodeInvalidJSON},
		"byte-order mark":          {"\ufeff[]", job.CodeInvalidJSON},
		"NUL in a value":           {`[{"id":"a","x":"\u0000"}]`, job.CodeInvalidRecord},
		"NUL in a name":            {`[{"id":"a","\u0000":1}]`, job.CodeInvalidRecord},
		"lone surrogate":           {`[{"id":"a","x":"\ud800"}]`, job.CodeInvalidRecord},
		"number out of range":      {`[{"id":"a","x":1e999999}]`, job.CodeInvalidRecord},
		"record that is no object": {`[1]`, job.CodeInvalidRecord},
		"id that is no string":     {`[{"id":1}]`, job.CodeInvalidRecord},
		"blank id":                 {`[{"id":" "}]`, job.CodeInvalidRecord},
		"id of 257 characters":     {`[{"id":"` + strings.Repeat("a", 257) + `"}]`, job.CodeInvalidRecord},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newWorld(t).submit(row.body, `"canary"`)
			if row.code != "" {
				a.refused(row.code)
				return
			}
			a.require(http.StatusAccepted)
		})
	}
}

// nested is a value n levels deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestMediaTypesOfBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit := func(body string, fields ...string) answer {
		return w.do(http.MethodPost, jobsPath, body, append(fields, "Idempotency-Key: "+quoted(uuid.NewString()))...)
	}
	for _, accepted := range []string{
		"application/json", "Application/JSON", "application/json; charset=utf-8", `application/json;charset="UTF-8"`, "application/json; v=1",
	} {
		submit(batch, "Content-Type: "+accepted).require(http.StatusAccepted)
	}
	for _, refused := range []string{
		"", "text/plain", "application/json; charset=iso-8859-1", "application/json; charset=utf-16", "application/ld+json", "application/json,text/plain",
		"application/json; charset", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
	} {
		a := submit(batch, "Content-Type: "+refused).refused(job.CodeUnsupportedMediaType)
		require.Equal(t, "application/json", a.header.Get("Accept-Post"))
		require.Empty(t, a.header.Get("Accept-Encoding"), "the coding was not the reason")
	}
	submit(batch, "Content-Type: application/json", "Content-Type: application/json").refused(job.CodeUnsupportedMediaType)
	submit("", "Content-Type:").refused(job.CodeUnsupportedMediaType)
	for _, coding := range []string{"gzip", "identity", "br, gzip"} {
		a := submit(batch, "Content-Type: application/json", "Content-Encoding: "+coding).refused(job.CodeUnsupportedMediaType)
		require.Equal(t, "identity", a.header.Get("Accept-Encoding"))
	}
}

func TestCancellationTakesNoBodyOrAnEmptyObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending() + "/cancellation"
	key := `Idempotency-Key: "canary"`
	w.do(http.MethodPost, path, "", key).require(200)
	w.do(http.MethodPost, path, "", key, "Content-Type: application/x-www-form-urlencoded").require(200)
	w.post(path, "{}", `"canary"`).require(200)
	w.post(path, " {\n} ", `"canary"`).require(200)
	for _, body := range []string{" ", "null", "[]", `""`, "0", "{", "{} {}", `{"a":1}`, "\ufeff{}"} {
		w.post(path, body, `"canary"`).refused(job.CodeInvalidJSON)
	}
	for _, members := range []string{
		`"reasonCode":1`, `"reasonCode":["wrong_batch"]`, `"reason":"wrong_batch"`, `"ReasonCode":"wrong_batch"`, `"reasonCode":"\xff"`,
		`"reasonCode":"wrong_batch","reasonCode":"wrong_batch"`, `"reasonCode":"wrong_batch","note":"free text"`,
	} {
		w.post(path, "{"+members+"}", `"canary"`).refused(job.CodeInvalidJSON)
	}
	w.do(http.MethodPost, path, "{}", key).refused(job.CodeUnsupportedMediaType)

	chunked := func(body string, fields ...string) answer { return w.chunked(path, body, append(fields, key)...) }
	chunked("").require(200)
	chunked("{}", "Content-Type: application/json").require(200)
	chunked("{}").refused(job.CodeUnsupportedMediaType)
}

func TestCancellationNamesItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	cancelled := w.cancelFor(path, "wrong_batch", `"canary"`).require(200)
	require.Equal(t, "wrong_batch", cancelled.members()["cancellationCode"])
	require.Equal(t, cancelled.body, w.get(path).require(200).body)
	again := w.post(path+"/cancellation", " {\n\"reasonCode\" : \"wrong\\u005fbatch\"}", `"canary"`).require(200)
	sameJob(t, cancelled, again)
	w.cancelFor(path, "superseded", `"canary"`).refused(job.CodeCancellationKeyReused)
	w.cancel(path, `"canary"`).refused(job.CodeCancellationKeyReused)

	unnamed := w.cancelled()
	for _, body := range []string{`{}`, `{"reasonCode":""}`, `{"reasonCode":null}`, `{"reasonCode":"etl_job_cancelled_by_owner"}`} {
		again := w.post(unnamed+"/cancellation", body, `"cancel"`).require(200)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	}
	require.Equal(t, cancelled.body, w.get(path).body)
}

func TestReasonThatIsNotAllowedIsToldThoseThatAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	before := w.get(path).require(200).body
	for _, reason := range []string{canary, " ", "WRONG_BATCH", "wrong_batch,superseded"} {
		w.cancelFor(path, reason, `"canary"`).refused(job.CodeInvalidCancellationReason)
	}
	require.Equal(t, before, w.get(path).body)
	w.cancelFor(path, "superseded", `"canary"`).require(200)
}

// chunked posts a body without announcing its length.
func (w *world) chunked(path, body string, fields ...string) answer {
	w.Helper()
	unknown := struct{ io.Reader }{strings.NewReader(body)}
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.server.URL+path, unknown)
	require.NoError(w, err)
	return w.send(r, fields...)
}

func TestBodiesAreBoundedWhateverTheyAnnounce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	json := "Content-Type: application/json"
	w.chunked(jobsPath, ofLength(1000), json, `Idempotency-Key: "canary"`).require(202)
	a := w.chunked(jobsPath, ofLength(1001), json, `Idempotency-Key: "malformed`).refused(job.CodePayloadTooLarge)
	require.Equal(t, "close", a.header.Get("Connection"))

	// Nothing of this body is ever sent, so an answer means that the server did not wait for it.
	unread := w.raw("POST " + jobsPath + " HTTP/1.1\r\nHost: localhost\r\n" + basic("alice") + "\r\n" + json +
		"\r\nContent-Length: 1001\r\n\r\n").refused(job.CodePayloadTooLarge)
	require.Equal(t, "close", unread.header.Get("Connection"))

	broken := w.raw("POST " + jobsPath + " HTTP/1.1\r\nHost: localhost\r\n" + basic("alice") + "\r\n" + json +
		"\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n").refused(job.CodeInvalidJSON)
	require.Equal(t, "close", broken.header.Get("Connection"))
}

// TestChecksComeInTheOrderOfTheContract sends requests that fail several checks: the earliest one answers.
func TestChecksComeInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	faults := []struct {
		code   job.Code
		fields []string
		body   string
	}{
		{code: job.CodeAuthenticationRequired, fields: []string{"Authorization:"}},
		{code: job.CodeRateLimited},
		{code: job.CodeNotAcceptable, fields: []string{"Accept: image/png"}},
		{code: job.CodeUnsupportedMediaType, fields: []string{"Content-Type: text/plain"}},
		{code: job.CodePayloadTooLarge, body: ofLength(2000)},
		{code: job.CodeInvalidIdempotencyKey, fields: []string{`Idempotency-Key: "`}},
		{code: job.CodeInvalidJSON, body: "{]"},
		{code: job.CodeJobNotFound},
	}
	w, strict := newWorld(t), newWorld(t, limited...)
	strict.replay(jobsPath+"/x", batch, `"canary"`)
	for first := range faults {
		server, body := w, batch
		fields := map[string]string{"Content-Type": "application/json", "Idempotency-Key": `"canary"`}
		for _, fault := range faults[first:] {
			if fault.code == job.CodeRateLimited {
				server = strict
			}
			if fault.body != "" && (body == batch) {
				body = fault.body
			}
			for _, field := range fault.fields {
				name, value, _ := strings.Cut(field, ":")
				fields[name] = value
			}
		}
		var lines []string
		for name, value := range fields {
			lines = append(lines, name+":"+value)
		}
		server.do(http.MethodPost, jobsPath+"/x/replays", body, lines...).refused(faults[first].code)
	}
	w.cancel(jobsPath+"/x", "").refused(job.CodeCancellationKeyRequired)
	w.post(jobsPath+"/x/cancellation", "[", "").refused(job.CodeCancellationKeyRequired)
	w.post(jobsPath+"/x/cancellation", "[", `"canary"`).refused(job.CodeInvalidJSON)
	w.do(http.MethodPost, jobsPath+"/x/cancellation", ofLength(2000), "Content-Type: text/plain").refused(job.CodeUnsupportedMediaType)
	w.get(jobsPath + "/x/lineage?limit=0").refused(job.CodeInvalidPageRequest)
	strict.do(http.MethodDelete, jobsPath, "").refused(job.CodeMethodNotAllowed)
}

func TestAcceptIsNegotiated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	for accept, ok := range map[string]bool{
		"":                                  true,
		"*/*":                               true,
		"application/*":                     true,
		"application/json":                  true,
		"APPLICATION/JSON":                  true,
		"application/json; charset=utf-8":   true,
		"text/html, application/json;q=0.1": true,
		"text/html;q=1, */*;q=0.001":        true,
		"application/json;q=0":              false,
		"application/json;q=0, */*":         false,
		"application/*;q=0, */*":            false,
		"text/html":                         false,
		"application/problem+json":          false,
		"*/*;q=0":                           false,
		"nonsense":                          false,
		"application/json;q=2":              false,
		"application/ld+json":               false,
		`text/html;a="b,c", application/json;q=1`: true,
	} {
		a := w.get(path, "Accept: "+accept)
		require.Equal(t, "Accept", a.header.Get("Vary"))
		if ok {
			require.Equal(t, "application/json", a.require(200).header.Get("Content-Type"), accept)
		} else {
			a.refused(job.CodeNotAcceptable)
		}
	}
	w.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nAccept:\r\n" + basic("alice") + "\r\n\r\n").require(200)
	w.get(path, "Accept: text/html", "Accept: application/json").require(200)
	w.get(path+"/provenance", "Accept: application/json").refused(job.CodeNotAcceptable)
	export := w.get(path+"/provenance", "Accept: application/ld+json;q=0.9, application/json;q=0").require(200)
	require.Equal(t, "application/ld+json", export.header.Get("Content-Type"))
	w.submit(batch, `"canary"`, "Accept: text/html").refused(job.CodeNotAcceptable)
	require.Len(t, w.get(jobsPath).ids(), 1, "nothing was submitted for an answer that nobody would read")
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	for _, target := range []string{jobsPath, path, path + "/attempts", path + "/lineage", path + "/provenance", "/livez", "/readyz", "/openapi.json", "/openapi.yaml", path + "x", "/nothing"} {
		get, head := w.get(target), w.do(http.MethodHead, target, "")
		require.Equal(t, get.status, head.status, target)
		require.Empty(t, head.body, target)
		get.header.Del("Date")
		head.header.Del("Date")
		require.Equal(t, get.header, head.header, target)
	}
	head := w.do(http.MethodHead, path, "")
	w.do(http.MethodHead, path, "", "If-None-Match: "+head.header.Get("ETag")).require(304)
	w.do(http.MethodHead, path+"/replays", "").require(405)
}

func TestOptionsListTheMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	for target, want := range map[string][2]string{
		jobsPath:               {"GET, HEAD, POST, OPTIONS", "application/json"},
		path:                   {"GET, HEAD, OPTIONS", ""},
		path + "/cancellation": {"POST, OPTIONS", "application/json"},
		path + "/replays":      {"POST, OPTIONS", "application/json"},
		path + "/attempts":     {"GET, HEAD, OPTIONS", ""},
		path + "/lineage":      {"GET, HEAD, OPTIONS", ""},
		path + "/provenance":   {"GET, HEAD, OPTIONS", ""},
		"/openapi.json":        {"GET, HEAD, OPTIONS", ""},
		"/livez":               {"GET, HEAD, OPTIONS", ""},
	} {
		a := w.do(http.MethodOptions, target, "").require(http.StatusNoContent)
		require.Equal(t, want, [2]string{a.header.Get("Allow"), a.header.Get("Accept-Post")}, target)
		require.Empty(t, a.body)
		require.Empty(t, a.header.Get("Content-Type"))
		require.Equal(t, want[0], w.do("PROPFIND", target, "").refused(job.CodeMethodNotAllowed).header.Get("Allow"))
	}
	w.do(http.MethodOptions, unknownPath, "").refused(job.CodeRouteNotFound)
	w.do(http.MethodOptions, jobsPath, "", "Authorization:").refused(job.CodeAuthenticationRequired)
}

func TestPathsAreMatchedExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.pending()
	for _, target := range []string{
		"/", "/api", "/api/", "/api/etl", "/api/etl/", unknownPath, jobsPath + "/", jobsPath + "//", path + "/",
		path + "/lineage/", path + "//lineage", path + "/nothing", "//api/etl/jobs", "/api//etl/jobs", "/api/etl/./jobs",
		"/api/etl/x/../jobs", "/api/etl/x/%2e%2e/jobs", "/api/etl/j%6fbs", "/api%2Fetl%2Fjobs", "/api/etl/jobs;a=b", "/API/etl/jobs",
		"/metrics", "/livez/", "/openapi.json/", "/../../etc/passwd", "/api/etl/%00", "/api/etl/%ff", "/api/etl/a%0d%0ab",
		"/.git/config", "/api/etl/!$&'()*+,;=:@",
	} {
		a := w.rawGet(target).require(404)
		a.path = strings.Replace(a.path, "//api", "/.//api", 1) // or it would be a URI of the host "api"
		a.refused(job.CodeRouteNotFound)
		require.Empty(t, a.header.Get("Location"))
	}
	a := w.rawGet(`/a[b]"<c>` + "\xff?secret=1").require(404)
	require.Equal(t, "/a%5Bb%5D%22%3Cc%3E%FF", a.members()["instance"], "a valid URI reference")
	w.rawGet("http://localhost" + path).require(200) // the absolute form of a target (RFC 9112 section 3.2.2)
	w.get(unknownPath, "Authorization:").refused(job.CodeAuthenticationRequired)
	w.get("/nothing", "Authorization:").refused(job.CodeRouteNotFound)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := strings.TrimPrefix(basic("alice"), "Authorization: Basic ")
	w.get(jobsPath, "Authorization: basic "+good).require(200)
	var first answer
	for i, field := range []string{
		"Authorization:", "Authorization: Basic", "Authorization: Basic %%%", "Authorization: Basic YWxpY2U=", "Authorization: Bearer " + good,
		"Authorization: Basic YWxpY2U6d3Jvbmc=", "Authorization: Basic Y2Fyb2w6d3Jvbmc=", "Authorization: Basic /////w==",
		"Authorization: Basic YWwAaWNlOng=",
	} {
		a := w.get(jobsPath, field).refused(job.CodeAuthenticationRequired)
		a.header.Del("Date")
		if i == 0 {
			first = a
		}
		require.Equal(t, first.header, a.header)
		require.Equal(t, first.body, a.body)
	}
	w.raw("GET " + jobsPath + " HTTP/1.1\r\nHost: x\r\n" + basic("alice") + "\r\n" + basic("alice") + "\r\n\r\n").
		refused(job.CodeAuthenticationRequired)
	// The body is never asked for: the first thing that comes back is the refusal, not 100 Continue.
	w.raw("POST " + jobsPath + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n").
		refused(job.CodeAuthenticationRequired)
}

func TestHealthNeedsNoCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/livez", "/readyz"} {
		require.JSONEq(t, `{"status":"ok"}`, w.get(path, "Authorization:").require(200).body)
	}
	newWorld(t, unreachable...).get("/livez", "Authorization:").require(200)
}

func TestInvalidRecordIsNamedByItsPlaceAndNothingOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `[{"id":"` + canary + `"},{"` + canary + `":"` + canary + `"},{"id":"a","` + canary + `":[1e1000]}]`
	a := w.submit(body, "k").refused(job.CodeInvalidRecord)
	require.Equal(t, []any{
		map[string]any{"pointer": "/1/id", "code": "missing_id"}, map[string]any{"pointer": "/2", "code": "number_too_large"},
	}, a.members()["errors"])
	require.NotContains(t, a.members(), "offset")
	require.NotContains(t, a.body, canary)

	a = w.submit(`[{"id":"a","`+canary+`":1,"`+canary+`":2}]`, "k").refused(job.CodeInvalidJSON)
	require.Equal(t, []any{map[string]any{"pointer": "/0", "code": "duplicate_member"}}, a.members()["errors"])
	require.NotContains(t, a.body, canary)
}

func TestBodyThatIsNoBatchIsToldWhereItStopsBeingOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.submit(`[{"id":"é"},]`, "k").refused(job.CodeInvalidJSON)
	require.InDelta(t, 12, a.members()["offset"], 0)
	require.InDelta(t, 0, w.submit(`{}`, "k").refused(job.CodeInvalidJSON).members()["offset"], 0, "and the beginning is a place, too")
}

// defaultLimits are those of a server that is told no others.
func defaultLimits(s *setup) { s.limits = job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000} }

// numbersOf is a value of so many times one number.
func numbersOf(times int, number string) string {
	return "[" + strings.Repeat(number+",", times-1) + number + "]"
}

func TestNumberOfMoreThanAThousandDigitsIsRefusedHoweverShortItIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, defaultLimits)
	for _, number := range []string{"1e131071", "-1e131071", "1e1000", "1e-2000", "1" + strings.Repeat("0", 1000)} {
		told := w.submit(`[{"id":"a","n":`+number+`}]`, `"canary"`).refused(job.CodeInvalidRecord).members()
		require.Equal(t, []any{map[string]any{"pointer": "/0", "code": "number_too_large"}}, told["errors"], number)
	}
	dense := `[{"id":"a","n":` + numbersOf(8300, "1e131071") + `}]`
	told := w.submit(dense, `"canary"`).refused(job.CodeInvalidRecord).members()
	require.Less(t, len(dense), 75_000, "sent, for a gigabyte in the database")
	require.Equal(t, []any{map[string]any{"pointer": "/0", "code": "number_too_large"}}, told["errors"])

	spread := strings.Repeat(`,{"id":"a","n":`+numbersOf(83, "1e131071")+`}`, 100)[1:]
	told = w.submit("["+spread+"]", `"canary"`).refused(job.CodeInvalidRecord).members()
	require.Len(t, told["errors"], 20)
	require.Equal(t, map[string]any{"pointer": "/19", "code": "number_too_large"}, told["errors"].([]any)[19])

	w.submit(`[{"id":"a","n":[1e999,-1e-999]}]`, `"canary"`).require(http.StatusAccepted)
}

func TestBatchIsAtMostSixteenTimesAsLongWhenItsNumbersAreWrittenOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, defaultLimits)
	const written = len(`[{"n": [], "id": "a"}]`) - len(", ")
	fitting := (16<<20 - written) / (1000 + len(", "))
	w.submit(`[{"id":"a","n":`+numbersOf(fitting, "1e999")+`}]`, `"canary"`).require(http.StatusAccepted)
	w.submit(`[{"id":"a","n":`+numbersOf(fitting+1, "1e999")+`}]`, `"canary"`).refused(job.CodePayloadTooLarge)
}

func TestNothingOfARecordIsToldWhateverIsWrongWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, defaultLimits)
	for code, record := range map[jobtype.RecordErrorCode]string{
		jobtype.RecordNotAnObject:       `["{c}",{"{c}":"{c}"}]`,
		jobtype.RecordMissingID:         `{"{c}":"{c}"}`,
		jobtype.RecordIDNotString:       `{"id":{"{c}":"{c}"}}`,
		jobtype.RecordIDBlank:           `{"id":" ","{c}":"{c}"}`,
		jobtype.RecordIDTooLong:         `{"id":"` + strings.Repeat("{c}", 100) + `"}`,
		jobtype.RecordIDUnprintable:     `{"id":"{c}\u200b"}`,
		jobtype.RecordNumberTooLarge:    `{"id":"{c}","{c}":{"{c}":[1e1000]}}`,
		jobtype.RecordStringNotStorable: `{"id":"{c}","{c}":"{c}\u0000"}`,
		jobtype.RecordDuplicateMember:   `{"id":"{c}","{c}":1,"{c}":2}`,
		jobtype.RecordTooDeep:           `{"id":"{c}","{c}":` + nested(63) + `}`,
	} {
		record = strings.ReplaceAll(record, "{c}", canary)
		a := w.submit(`[{"id":"`+canary+`"},`+record+`]`, `"canary"`)
		told := a.members()["errors"].([]any)
		require.Len(t, told, 1, code)
		require.Equal(t, string(code), told[0].(map[string]any)["code"])
		require.Regexp(t, `^/1(/id)?$`, told[0].(map[string]any)["pointer"])
		require.NotContains(t, a.body, canary)
	}
	for _, body := range []string{"[" + canary, `[{"` + canary + `" 1}]`, `[{"id":"` + canary + "\xff\"}]", `[] ` + canary} {
		a := w.submit(body, `"canary"`).refused(job.CodeInvalidJSON)
		require.NotContains(t, a.body, canary)
		require.Contains(t, a.members(), "offset")
		require.NotContains(t, a.members(), "errors")
	}
}
