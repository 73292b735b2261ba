package graph_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	jsonType     = "application/json"
	responseType = "application/graphql-response+json"
	typenameBody = `{"query": "{__typename}"}`
)

func TestEveryAnswerIsPrivateAndNamesItsType(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, got := range []answer{
		s.send("POST", s.url, typenameBody, "Content-Type", jsonType),
		s.send("POST", s.url, "nonsense", "Content-Type", jsonType),
		s.send("PUT", s.url, ""),
		s.send("POST", s.url, typenameBody, "Content-Type", jsonType, "As", "nobody"),
	} {
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		require.Equal(t, "Accept", got.header.Get("Vary"))
		require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
	}
}

func TestAcceptDecidesTheType(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, c := range []struct {
		lines []string
		want  string // empty is 406
	}{
		{nil, jsonType},
		{[]string{""}, jsonType},
		{[]string{"*/*"}, jsonType},
		{[]string{"application/*"}, jsonType},
		{[]string{jsonType}, jsonType},
		{[]string{responseType}, responseType},
		{[]string{jsonType + ", " + responseType}, responseType},
		{[]string{responseType + "," + jsonType + ";q=0.9"}, responseType},
		{[]string{"application/json;q=0.1, " + responseType}, responseType},
		{[]string{responseType + ";q=0.1, application/json;q=0.2"}, jsonType},
		{[]string{responseType + ";q=0, application/json"}, jsonType},
		{[]string{"application/json;q=0, */*;q=0.1"}, responseType},
		{[]string{"*/*;q=0.1, application/*;q=0"}, ""},
		{[]string{"application/*;q=0.2, application/*;q=0.3, " + responseType + ";q=0.25"}, jsonType},
		{[]string{responseType + ", */*"}, responseType},
		{[]string{jsonType + ", */*"}, jsonType},
		{[]string{"text/html", jsonType}, jsonType},
		{[]string{"text/html"}, ""},
		{[]string{"image/png, text/html;q=0.9"}, ""},
		{[]string{"application/json;q=2"}, ""},
		{[]string{"application/json;q=x"}, ""},
		{[]string{";;, application/json"}, jsonType},
		{[]string{"text/event-stream, application/json"}, jsonType},
	} {
		headers := []string{"Content-Type", jsonType}
		for _, line := range c.lines {
			headers = append(headers, "Accept", line)
		}
		got := s.send("POST", s.url, typenameBody, headers...)
		if c.want == "" {
			require.Equal(t, http.StatusNotAcceptable, got.status, c.lines)
			continue
		}
		require.Equal(t, http.StatusOK, got.status, c.lines)
		require.Equal(t, c.want+"; charset=utf-8", got.header.Get("Content-Type"), c.lines)
	}
}

func TestMethodsBesidesGetAndPostAreNotAllowed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, method := range []string{"PUT", "DELETE", "PATCH", "QUERY", "TRACE"} {
		got := s.send(method, s.url, "")
		require.Equal(t, http.StatusMethodNotAllowed, got.status, method)
		require.Equal(t, "GET, POST, OPTIONS", got.header.Get("Allow"), method)
		require.Equal(t, "METHOD_NOT_ALLOWED", at(t, got.json(t), "errors", 0, "extensions", "code"), method)
	}
	require.Equal(t, http.StatusMethodNotAllowed, s.send("HEAD", s.url, "").status)

	options := s.send("OPTIONS", s.url, "")
	require.Equal(t, http.StatusNoContent, options.status)
	require.Equal(t, "GET, POST, OPTIONS", options.header.Get("Allow"))
	require.Equal(t, []string{jsonType}, options.header.Values("Accept-Post"))
}

func TestMediaTypesBesidesJSONInUTF8AreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, headers := range [][]string{
		{},
		{"Content-Type", "text/plain"},
		{"Content-Type", "application/graphql"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "application/json; charset=utf-16"},
		{"Content-Type", "application/json; charset=\"\""},
		{"Content-Type", "application/json;;"},
		{"Content-Type", jsonType, "Content-Type", "text/plain"},
		{"Content-Type", jsonType, "Content-Encoding", "gzip"},
	} {
		got := s.send("POST", s.url, typenameBody, headers...)
		require.Equal(t, http.StatusUnsupportedMediaType, got.status, headers)
		require.Equal(t, []string{jsonType}, got.header.Values("Accept-Post"), headers)
	}
	for _, fine := range []string{"application/json; charset=utf-8", "Application/JSON; Charset=UTF-8"} {
		require.Equal(t, http.StatusOK, s.send("POST", s.url, typenameBody, "Content-Type", fine).status, fine)
	}
}

func TestTheBodyMustBeOneStrictObject(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, body := range []string{
		``, `null`, `[]`, `"x"`, `{`, `{}`, `{"query": null}`, `{"query": 1}`, `{"QUERY": "{__typename}"}`,
		`{"query": "{__typename}"} x`,
		`{"query": "{__typename}"}{"query": "{__typename}"}`,
		`{"query": "{__typename}", "query": "{__typename}"}`,
		`{"query": "{__typename}", "variables": {"a": 1, "a": 2}}`,
		`{"query": "{__typename}", "variables": []}`,
		`{"query": "{__typename}", "operationName": 1}`,
		`{"query": "{__typename}", "extensions": "x"}`,
		"{\"query\": \"{__typename} #\xff\"}",
		`{"query": "{__typename} #\ud800"}`,
		"\ufeff" + typenameBody,
	} {
		for _, accept := range []string{jsonType, responseType} {
			got := s.send("POST", s.url, body, "Content-Type", jsonType, "Accept", accept)
			require.Equal(t, http.StatusBadRequest, got.status, body)
			parsed := got.json(t)
			require.NotContains(t, parsed, "data", body)
			require.Equal(t, "BAD_REQUEST", at(t, parsed, "errors", 0, "extensions", "code"), body)
		}
	}
	got := s.send("POST", s.url, `{"query": "{__typename}", "variables": null, "operationName": null, "extensions": null, "more": 1}`,
		"Content-Type", jsonType)
	require.JSONEq(t, `{"data": {"__typename": "Query"}}`, got.body)
}

func TestAnInterruptedBodyIsNotExecuted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := s.raw("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	require.Contains(t, got, "400 Bad Request")
	require.Contains(t, got, "BAD_REQUEST")
}

func TestGetTakesAQueryFromTheURL(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	get := func(query string) answer { return s.send("GET", s.url+"?"+query, "", "Accept", responseType) }
	query := "query=" + url.QueryEscape("query a($id: ID!) {job(jobRecordId: $id) {id}} query b {__typename}")

	require.JSONEq(t, `{"data": {"job": null}}`, get(query+"&operationName=a&variables="+url.QueryEscape(`{"id": "x"}`)).body)
	require.JSONEq(t, `{"data": {"__typename": "Query"}}`, get(query+"&operationName=b&extensions={}").body)
	for _, bad := range []string{
		"", "operationName=a", query + "&" + query, query + "&variables=[]", query + "&variables=", query + "&extensions=x",
		"query=%ff", "query=%zz", query + ";x=1", query + "&operationName=b&variables={}x",
	} {
		got := get(bad)
		require.Equal(t, http.StatusBadRequest, got.status, bad)
		require.Equal(t, "BAD_REQUEST", at(t, got.json(t), "errors", 0, "extensions", "code"), bad)
	}
}

func TestGetCannotChangeAnything(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	mutation := `mutation {submitJob(input: {requestPayload: "[]", idempotencyKey: "k"}) {__typename}}`
	got := s.send("GET", s.url+"?query="+url.QueryEscape(mutation), "")
	require.Equal(t, http.StatusMethodNotAllowed, got.status)
	require.Equal(t, "POST", got.header.Get("Allow"))
	require.Empty(t, at(t, s.data("{jobs{nodes{id}}}", nil), "jobs", "nodes"))
}

func TestTheStatusOfARefusedDocumentDependsOnTheType(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, document := range []string{"{", "{nope}", "query($x: Int!) {jobs(first: $x) {nodes {id}}}", strings.Repeat("{a", 900), "", "query a {__typename} query b {__typename}"} {
		for accept, status := range map[string]int{jsonType: http.StatusOK, responseType: http.StatusBadRequest} {
			got := s.post(document, nil, "Accept", accept)
			require.Equal(t, status, got.status, document)
			require.NotContains(t, got.json(t), "data", document)
		}
	}
}

func TestRequestsFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://elsewhere.example"}} {
		got := s.post("{__typename}", nil, headers...)
		require.Equal(t, http.StatusForbidden, got.status, headers)
	}
	get := s.url + "?query={__typename}"
	require.Equal(t, http.StatusForbidden, s.send("GET", get, "", "Sec-Fetch-Site", "cross-site").status)
	require.Equal(t, http.StatusOK, s.send("GET", get, "", "Sec-Fetch-Site", "none").status)
	require.Equal(t, http.StatusOK, s.post("{__typename}", nil, "Sec-Fetch-Site", "same-origin").status)
	require.Equal(t, http.StatusOK, s.post("{__typename}", nil, "Upgrade", "h2c").status)
}

func TestWithoutAnOwnerNothingIsAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
		got := s.send(method, s.url, "", "As", "nobody")
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Equal(t, "UNAUTHENTICATED", at(t, got.json(t), "errors", 0, "extensions", "code"))
	}
}

// The largest payload must pass however a client escapes it, and one byte more must not.
func TestTheBodyHasRoomForTheLargestPayloadInTheLongestEscapes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	submit := func(size int) answer {
		payload := `[{"id":"a","x":"` + strings.Repeat("<", size-len(`[{"id":"a","x":""}]`)) + `"}]`
		escaped := strings.NewReplacer(`"`, `\"`, "<", `\u003c`).Replace(payload)
		return s.send("POST", s.url, `{"query": "mutation($p: String!) {submitJob(input: {requestPayload: $p, idempotencyKey: \"k\"}) {__typename ... on Problem {code}}}", "variables": {"p": "`+escaped+`"}}`, "Content-Type", jsonType)
	}
	require.JSONEq(t, `{"data": {"submitJob": {"__typename": "Problem", "code": "ETL_PAYLOAD_TOO_LARGE"}}}`, submit(limits.MaxPayloadBytes+1).body)
	require.JSONEq(t, `{"data": {"submitJob": {"__typename": "SubmitJobSuccess"}}}`, submit(limits.MaxPayloadBytes).body)
}

func TestABodyOverTheLimitIsCutOrNotReadAtAll(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	announced := s.raw("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n")
	require.Contains(t, announced, "413 Request Entity Too Large")

	chunk := strings.Repeat(" ", 1<<20)
	body := strings.Repeat("100000\r\n"+chunk+"\r\n", 8)
	chunked := s.raw("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body + "0\r\n\r\n")
	require.Contains(t, chunked, "413 Request Entity Too Large")
	require.Contains(t, chunked, "PAYLOAD_TOO_LARGE")
}
