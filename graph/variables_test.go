package graph_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// coercion is a query with one variable of the type, used where the schema takes that type.
var coercion = map[string]string{
	"Int":         `query($v: Int) {jobs(first: $v) {nodes {id}}}`,
	"ID!":         `query($v: ID!) {job(jobRecordId: $v) {id}}`,
	"String":      `query($v: String) {jobs(after: $v) {nodes {id}}}`,
	"Boolean":     `query($v: Boolean) {jobs(filter: {replay: $v}) {nodes {id}}}`,
	"DateTime":    `query($v: DateTime) {jobs(filter: {createdAfter: $v}) {nodes {id}}}`,
	"JobStatus!":  `query($v: JobStatus!) {jobs(filter: {status: [$v]}) {nodes {id}}}`,
	"[JobStatus]": `query($v: [JobStatus!]) {jobs(filter: {status: $v}) {nodes {id}}}`,
	"JobFilter":   `query($v: JobFilter) {jobs(filter: $v) {nodes {id}}}`,
	"Input!":      `query($v: Boolean!) {__typename @skip(if: $v)}`,
	"CancelInput": `mutation($v: CancelJobInput!) {cancelJob(input: $v) {__typename}}`,
}

func TestVariablesAreTakenAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, c := range []struct {
		query string
		taken []string
		not   []string
	}{
		{
			"Int",
			[]string{"null", "1", "100"},
			[]string{`"5"`, "1.5", "2147483648", "-2147483649", "1e999", "true", "[1]", "{}", "9223372036854775808"},
		},
		{"ID!", []string{`"x"`, "5", "-5"}, []string{"null", "1.5", "true", `["x"]`, "{}", "9223372036854775808"}},
		{"String", []string{"null", `""`}, []string{"5", "true", `["x"]`, "{}"}},
		{"Boolean", []string{"null", "true", "false"}, []string{`"true"`, "1", "[true]"}},
		{
			"DateTime",
			[]string{"null", `"2026-01-31T12:00:00Z"`, `"2026-01-31T12:00:00.1Z"`, `"2026-01-31T12:00:00.123456Z"`},
			[]string{
				`""`, "5", "true", `"2026-01-31"`, `"2026-01-31T12:00:00"`, `"2026-01-31T12:00:00+01:00"`, `"2026-02-30T12:00:00Z"`,
				`"2026-01-31T12:00:00.1234567Z"`, `"2026-01-31T1:00:00.1234567Z"`, `"2026-01-31t12:00:00z"`, `"2026-01-31T12:00:00,1Z"`, `" 2026-01-31T12:00:00Z"`,
			},
		},
		{"JobStatus!", []string{`"FAILED"`}, []string{`"failed"`, `"NOPE"`, "0", "null", "{}"}},
		{"[JobStatus]", []string{"null", "[]", `["FAILED", "FAILED"]`, `"FAILED"`}, []string{`[null]`, `"failed"`, `[["FAILED"]]`, "[0]", "{}"}},
		{
			"JobFilter",
			[]string{"null", "{}", `{"status": "FAILED"}`, `{"status": null, "replay": true, "createdBefore": "2026-01-31T12:00:00Z"}`},
			[]string{
				`{"nope": 1}`, `{"__typename": "JobFilter"}`, `{"status": ["failed"]}`, `{"replay": "x"}`, `{"createdAfter": ""}`,
				`{"createdAfter": 5}`, `[]`, `"x"`, "5",
			},
		},
		{"Input!", []string{"true"}, []string{"null", `"true"`}},
		{
			"CancelInput",
			[]string{`{"jobRecordId": 5, "idempotencyKey": "k"}`},
			[]string{
				`{"jobRecordId": "x"}`, `{"jobRecordId": 1.5, "idempotencyKey": "k"}`, `{"jobRecordId": "x", "idempotencyKey": 5}`,
				`{"jobRecordId": "x", "idempotencyKey": null}`, `{"jobRecordId": "x", "idempotencyKey": "k", "more": 1}`, "null",
			},
		},
	} {
		for _, value := range c.taken {
			got := s.variable(coercion[c.query], value)
			require.Equal(t, http.StatusOK, got.status, "%s %s: %s", c.query, value, got.body)
			require.NotContains(t, got.json(t), "errors", "%s %s", c.query, value)
		}
		for _, value := range c.not {
			got := s.variable(coercion[c.query], value)
			require.Equal(t, http.StatusBadRequest, got.status, "%s %s: %s", c.query, value, got.body)
			require.JSONEq(t, `{"errors": [{"message": "A variable has no value, or one that its type does not have.",
				"locations": [{"line": 1, "column": `+column(c.query)+`}], "extensions": {"code": "BAD_USER_INPUT"}}]}`,
				got.body, "%s %s", c.query, value)
		}
	}
}

// column is where the declaration of the variable is.
func column(query string) string {
	if query == "CancelInput" {
		return "10"
	}
	return "7"
}

func (s *server) variable(query, value string) answer {
	s.t.Helper()
	return s.send("POST", s.url, `{"query": "`+query+`", "variables": {"v": `+value+`}}`,
		"Content-Type", jsonType, "Accept", responseType)
}

func TestLiteralsAreTakenAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, fine := range []string{
		"{jobs(first: 1) {nodes {id}}}", "{jobs(first: null, after: null, filter: null) {nodes {id}}}", "{jobs(filter: {}) {nodes {id}}}",
		"{jobs(filter: {status: FAILED}) {nodes {id}}}", "{jobs(filter: {status: []}) {nodes {id}}}",
		`{jobs(filter: {createdAfter: "2026-01-31T12:00:00Z"}) {nodes {id}}}`, `{jobs(filter: {createdAfter: """2026-01-31T12:00:00Z"""}) {nodes {id}}}`,
		"{job(jobRecordId: 5) {id}}", "query($v: Int = 5) {jobs(first: $v) {nodes {id}}}",
	} {
		require.NotContains(t, s.post(fine, nil).body, "errors", fine)
	}
	for _, loose := range []string{
		"{jobs(first: 2147483648) {nodes {id}}}", "{jobs(first: 99999999999999999999) {nodes {id}}}", "{jobs(first: {}) {nodes {id}}}",
		`{jobs(first: "5") {nodes {id}}}`, "{jobs(first: 1.0) {nodes {id}}}", "{jobs(filter: {status: [null]}) {nodes {id}}}",
		`{jobs(filter: {status: "FAILED"}) {nodes {id}}}`, "{jobs(filter: {status: failed}) {nodes {id}}}", "{jobs(filter: {status: {}}) {nodes {id}}}",
		`{jobs(filter: {createdAfter: ""}) {nodes {id}}}`, "{jobs(filter: {createdAfter: 5}) {nodes {id}}}", "{jobs(filter: {createdAfter: {}}) {nodes {id}}}",
		`{jobs(filter: {createdAfter: ["2026-01-31T12:00:00Z"]}) {nodes {id}}}`, "{jobs(filter: {replay: 1}) {nodes {id}}}", "{jobs(filter: []) {nodes {id}}}",
		"{job(jobRecordId: 1.5) {id}}", "{job(jobRecordId: null) {id}}", "{job {id}}", "query($v: Int = 2147483648) {jobs(first: $v) {nodes {id}}}",
		`query($v: DateTime = "x") {jobs(filter: {createdAfter: $v}) {nodes {id}}}`, "{jobs(after: 5) {nodes {id}}}",
	} {
		got := s.post(loose, nil, "Accept", responseType)
		require.Equal(t, http.StatusBadRequest, got.status, "%s: %s", loose, got.body)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", at(t, got.json(t), "errors", 0, "extensions", "code"), loose)
	}
}
