package graph_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/graph"
)

// largestAnswer is what the answer to a hostile document must be smaller than.
const largestAnswer = 8 << 10

func repeat(n int, part func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(part(i))
	}
	return all.String()
}

// bomb is a chain of n fragments, each of which spreads the next one twice.
func bomb(n int, on, fragment string) string {
	return repeat(n, func(i int) string {
		return fmt.Sprintf(" fragment f%d on %s { ", i, on) + strings.ReplaceAll(fragment, "NEXT", fmt.Sprintf("...f%d", i+1)) + " }"
	}) + fmt.Sprintf(" fragment f%d on %s { __typename }", n, on)
}

func nested(depth int) string {
	return strings.Repeat("replaySource {", depth) + " __typename " + strings.Repeat("}", depth)
}

// hostileDocuments are those of the OWASP cheat sheet and of common scanners, with the code that refuses each.
var hostileDocuments = []struct{ name, document, code string }{
	{"101 aliases", "{" + repeat(101, func(i int) string { return fmt.Sprintf(" a%d: __typename", i) }) + "}", "QUERY_TOO_COMPLEX"},
	{"circular introspection", "{__schema{types{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}", "GRAPHQL_VALIDATION_FAILED"},
	{"unknown directives", "{__typename " + strings.Repeat("@aa", 40) + "}", "GRAPHQL_VALIDATION_FAILED"},
	{"many directives", "{__typename " + strings.Repeat("@include(if: true)", 60) + "}", "QUERY_TOO_COMPLEX"},
	{"directives on the operation", "query " + strings.Repeat("@aa", 51) + "{__typename}", "QUERY_TOO_COMPLEX"},
	{"500 times one field", "{" + strings.Repeat(" __typename", 500) + "}", "QUERY_TOO_COMPLEX"},
	{"500 root fields in a fragment", "{...f} fragment f on Query {" + strings.Repeat(" __typename", 500) + "}", "QUERY_TOO_COMPLEX"},
	{"50 000 times one field", "{" + strings.Repeat(" __typename", 50_000) + "}", "QUERY_TOO_COMPLEX"},
	{"unknown field 5 000 times", "{" + strings.Repeat(" nope", 5000) + "}", "QUERY_TOO_COMPLEX"},
	{"unknown field as often as allowed", "{job(jobRecordId: 1) {" + strings.Repeat(" nope", 450) + "}}", "GRAPHQL_VALIDATION_FAILED"},
	{"one field as often as allowed", "{job(jobRecordId: 1) {" + strings.Repeat(" id", 490) + "}}", ""},
	{"fragment bomb", "{...f0}" + bomb(26, "Query", "NEXT, NEXT"), "QUERY_TOO_COMPLEX"},
	{"nested fragment bomb", `{job(jobRecordId: "x") {...f0}}` + bomb(18, "Job", "a: replaySource {NEXT} b: replaySource {NEXT}"), "QUERY_TOO_COMPLEX"},
	{"bomb in an inline fragment", "{... @include(if: true) {...f0 @include(if: true)}}" + bomb(26, "Query", "NEXT, NEXT"), "QUERY_TOO_COMPLEX"},
	{"fragment bomb that is not used", "{__typename}" + bomb(26, "Query", "NEXT, NEXT"), "QUERY_TOO_COMPLEX"},
	{"depth 900", `{job(jobRecordId: "x") {` + nested(900) + "}}", "QUERY_TOO_COMPLEX"},
	{"depth 20 000", `{job(jobRecordId: "x") {` + nested(20_000) + "}}", "QUERY_TOO_COMPLEX"},
	{"depth 2 000 in few tokens", strings.Repeat("{a", 2000), "GRAPHQL_PARSE_FAILED"},
	{"circular fragments", "{...A} fragment A on Query{...B} fragment B on Query{...A}", "GRAPHQL_VALIDATION_FAILED"},
	{"circular fragments with branches", "{...f0}" + strings.ReplaceAll(bomb(12, "Query", "NEXT, NEXT"), "{ __typename }", "{ ...f0 ...f0 }"), "QUERY_TOO_COMPLEX"},
	{"11 operations", repeat(11, func(i int) string { return fmt.Sprintf("query q%d {__typename} ", i) }), "QUERY_TOO_COMPLEX"},
	{"large pages in large pages", "{jobs(first:1000000){nodes{replays(first:1000000){nodes{replays(first:1000000){nodes{id}}}}}}}", "QUERY_TOO_COMPLEX"},
	{"a large page", "{jobs(first:1000000){nodes{id}}}", "BAD_USER_INPUT"},
	{"negative page", "{jobs(first:-1){nodes{id}}}", "BAD_USER_INPUT"},
	{"lineages in lineages", "{jobs{nodes{lineage{edges{source{lineage{edges{source{id}}}}}}}}}", "QUERY_TOO_COMPLEX"},
	{"lineages in ten levels", `{node(id:"x"){... on Job{` + strings.Repeat("lineage{edges{source{", 4) + "id" + strings.Repeat("}}}", 4) + "}}}", "QUERY_TOO_COMPLEX"},
	{"text of a hundred lineages", "{jobs(first:100){nodes{lineage{provenance}}}}", "QUERY_TOO_COMPLEX"},
	{"no stack in a syntax error", "qwerty cop{abc}", "GRAPHQL_PARSE_FAILED"},
	{"long string", `{job(jobRecordId: "` + strings.Repeat("x", 400_000) + `"){id}}`, ""},
	{"long name", "{" + strings.Repeat("x", 400_000) + "}", "GRAPHQL_VALIDATION_FAILED"},
	{"long cursor", `{jobs(after: "` + strings.Repeat("x", 400_000) + `"){nodes{id}}}`, "BAD_USER_INPUT"},
	{"only spaces", strings.Repeat(" ", 400_000), "GRAPHQL_VALIDATION_FAILED"},
	{"only comments", strings.Repeat("#\n", 200_000), "QUERY_TOO_COMPLEX"},
	{"deep list", "{jobs(filter: {status: " + strings.Repeat("[", 3000) + "}) {nodes{id}}}", "GRAPHQL_PARSE_FAILED"},
	{"control characters", "{\x00\x01}", "GRAPHQL_PARSE_FAILED"},
}

func TestHostileDocumentsGetSmallAnswers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, hostile := range hostileDocuments {
		got := s.post(hostile.document, nil)
		require.Less(t, len(got.body), largestAnswer, hostile.name)
		if hostile.code == "" {
			require.Equal(t, map[string]any{"data": map[string]any{"job": nil}}, got.json(t), hostile.name)
			continue
		}
		refused := got.json(t)["errors"].([]any)
		require.LessOrEqual(t, len(refused), 10, hostile.name)
		require.Equal(t, hostile.code, at(t, refused, 0, "extensions", "code"), hostile.name)
	}
}

// Validation takes time in the square of a document's size, so it must not begin. Only costs are counted behind it.
func TestWhatIsTooLargeIsRefusedBeforeItIsValidated(t *testing.T) {
	t.Parallel()
	var validations atomic.Int64
	s := newServer(t)
	s.url = serve(t, graph.NewHandlerOfDocuments(graph.Config{Service: s.service}, func() { validations.Add(1) }))
	refused := 0
	for _, hostile := range hostileDocuments {
		before := validations.Load()
		got := s.post(hostile.document, nil)
		if hostile.code != "QUERY_TOO_COMPLEX" || at(t, got.json(t), "errors", 0, "extensions", "limit") == "cost" {
			continue
		}
		require.Equal(t, before, validations.Load(), hostile.name)
		refused++
	}
	require.Greater(t, refused, 10)
	require.Positive(t, validations.Load(), "the others are validated")
}

func TestHostileRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	query := `{"query": "{__typename}"`
	for name, hostile := range map[string]struct {
		method, url, body, contentType string
		status                         int
	}{
		"batch":                 {"POST", s.url, "[" + query + "}," + query + "}]", "application/json", 400},
		"deep variables":        {"POST", s.url, query + `, "variables": {"x": ` + strings.Repeat("[", 20_000) + "}}", "application/json", 400},
		"form":                  {"POST", s.url, "query=%7B__typename%7D", "application/x-www-form-urlencoded", 415},
		"JSON as text":          {"POST", s.url, query + "}", "text/plain", 415},
		"upload":                {"POST", s.url, "--x\r\n\r\n--x--", "multipart/form-data; boundary=x", 415},
		"mutation by GET":       {"GET", s.url + "?query=" + url.QueryEscape(`mutation{cancelJob(input:{jobRecordId:"x",idempotencyKey:"k"}){__typename}}`), "", "", 405},
		"far too large":         {"POST", s.url, query + `, "x": "` + strings.Repeat("x", 7<<20) + `"}`, "application/json", 413},
		"persisted query alone": {"POST", s.url, `{"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "00"}}}`, "application/json", 400},
	} {
		headers := []string{}
		if hostile.contentType != "" {
			headers = append(headers, "Content-Type", hostile.contentType)
		}
		got := s.send(hostile.method, hostile.url, hostile.body, headers...)
		require.Equal(t, hostile.status, got.status, name)
		require.Less(t, len(got.body), 1<<10, name)
	}
}

func TestARefusedCostIsToldBesideTheAllowedOne(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := s.post("{jobs(first:100){nodes{replays(first:100){nodes{id status createdAt updatedAt recordCount}}}}}", nil)
	require.Equal(t, map[string]any{
		"code": "QUERY_TOO_COMPLEX", "limit": "cost", "requested": 60_201.0, "allowed": 50_000.0,
	}, at(t, got.json(t), "errors", 0, "extensions"))
	got = s.post("{job(jobRecordId: 1) {"+nested(15)+"}}", nil)
	require.Equal(t, map[string]any{
		"code": "QUERY_TOO_COMPLEX", "limit": "depth", "requested": 17.0, "allowed": 15.0,
	}, at(t, got.json(t), "errors", 0, "extensions"))
}

func TestIntrospectionOfTheCommonToolsPasses(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	schema := node(t, "introspect.mjs", s.url)
	require.Contains(t, schema, "type Lineage {")
}

func TestIntrospectionCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.Introspection = false })
	got := s.post("{__schema{types{name}}}", nil)
	require.NotContains(t, got.body, "JobFilter")
	require.Equal(t, http.StatusOK, got.status)
}

func TestNoErrorSuggestsANameOrRepeatsTheDocument(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, document := range []string{
		"{__schema{directive}}",
		"{jos{nodes{id}}}",
		`{job(jobRecordI: "x"){id}}`,
		`{job(jobRecordId: "x"){... on Jo{id}}}`,
		"{jobs(filter: {status: [FAILLED]}){nodes{id}}}",
		"{jobs(filter: {statu: [FAILED]}){nodes{id}}}",
		"{__typename @skip(iff: true)}",
		`{job(jobRecordId: "x")}`,
	} {
		got := s.post(document, nil)
		require.NotContains(t, got.body, "Did you mean")
		require.NotRegexp(t, `jos|jobRecordI|"Jo"|FAILLED|statu|\biff\b|"directive`, got.body)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", at(t, got.json(t), "errors", 0, "extensions", "code"), got.body)
		require.NotNil(t, at(t, got.json(t), "errors", 0, "locations", 0, "line"))
	}
}

func TestNothingCanBeDeferred(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.newJob("k")
	got := s.post("{jobs {nodes {id ... @defer {lineage {jobCount}}}}}", nil)
	require.Equal(t, "GRAPHQL_VALIDATION_FAILED", at(t, got.json(t), "errors", 0, "extensions", "code"), got.body)
	require.NotContains(t, s.post("{__schema {directives {name}}}", nil).body, "defer")
}

// A list would be read again by every field that takes it.
func TestALongListIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	list := func(length int) answer {
		return s.variable(coercion["[JobStatus]"], `["FAILED"`+strings.Repeat(`,"FAILED"`, length-1)+"]")
	}
	require.JSONEq(t, `{"data": {"jobs": {"nodes": []}}}`, list(100).body)
	require.Equal(t, "BAD_USER_INPUT", at(t, list(101).json(t), "errors", 0, "extensions", "code"))
}
