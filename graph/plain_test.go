package graph_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/graph/generated"
	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// resolved is a field at the end of a job that needs a resolver, so that gqlgen writes all that is around it; resolvedText is
// its part of the answer.
const (
	resolved     = ` resolved: replays(first: 1) @include(if: $resolve) {__typename}`
	resolvedText = `,"resolved":{"__typename":"JobConnection"}`
)

// newFamily makes a lineage with a job in each status, and returns the id of the last one.
func (s *server) newFamily() string {
	s.t.Helper()
	root := s.cancelledJob("k")
	replay := func(key string) string { return at(s.t, s.replay(root, batch, key), "job", "id").(string) }
	replay("failed")
	require.NoError(s.t, s.store.Fail(s.t.Context(), s.claim(), worker.Failure{Code: job.FailureTarget}))
	replay("succeeded")
	require.NoError(s.t, s.store.Execute(s.t.Context(), s.claim()))
	replay("running")
	s.claim()
	return replay("pending")
}

// leaves are the fields of a type that have a scalar.
func leaves(name string) []string {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	names := []string{"__typename"}
	for _, field := range schema.Types[name].Fields {
		if schema.Types[field.Type.Name()].IsLeafType() {
			names = append(names, field.Name)
		}
	}
	return names
}

// plainSelections select every field that needs no resolver, in each place where it can be.
func plainSelections() []string {
	whole := strings.Join(leaves("Job"), " ") + resolved
	jobEdge := strings.Join(leaves("JobEdge"), " ") + " node {" + whole + "}"
	selections := []string{
		"job(jobRecordId: $id) {" + whole + "}",
		"node(id: $id) {__typename ... on Job {" + whole + "}}",
		"jobs {nodes {" + whole + "}}",
		"jobs {edges {" + jobEdge + "}}",
		"lineage(jobRecordId: $id) {root {" + whole + "} job {" + whole + "} ancestry {" + whole + "}}",
		"lineage(jobRecordId: $id) {jobs {nodes {" + whole + "} edges {" + jobEdge + "}}}",
	}
	for _, leaf := range leaves("LineageEdge") {
		selections = append(selections, "lineage(jobRecordId: $id) {edges {"+leaf+" source {id"+resolved+"}}}")
	}
	for _, leaf := range leaves("Job") { // one by one, since a lineage may have many edges
		selections = append(selections, "lineage(jobRecordId: $id) {edges {source {"+leaf+resolved+"} derived {"+leaf+resolved+"}}}")
	}
	return selections
}

// shapedSelections select fields in every way that there is besides writing each of them once.
var shapedSelections = []string{
	"jobs {nodes {status one: id two: id id" + resolved + "}}",
	"jobs {nodes {id status id ... {createdAt} ... on Job {updatedAt id} ... on Node {again: id}" + resolved + "}}",
	"jobs {nodes {id status @skip(if: true) createdAt @include(if: false) updatedAt @skip(if: $resolve) @include(if: $resolve)" + resolved + "}}",
	"jobs {nodes {id ... @skip(if: true) {status} ... @include(if: true) {createdAt}" + resolved + "}}",
	"jobs {nodes {id} nodes {status" + resolved + "}}",
	"jobs {edges {node {id} cursor} edges {node {status" + resolved + "} place: cursor}}",
	"jobs {edges {a: node {id} b: node {status" + resolved + "}}}",
	"jobs {none: edges {cursor node {id" + resolved + "}}} empty: jobs(filter: {status: FAILED, replay: false}) {nodes {id" + resolved + "} edges {cursor}}",
	"lineage(jobRecordId: $id) {edges {from: source {id} to: derived {id" + resolved + "} source {status}}}",
	"job(jobRecordId: $id) {id" + resolved + `} none: job(jobRecordId: "x") {id` + resolved + "}",
}

func TestWhatIsWrittenPlainlyIsWhatGqlgenWouldWrite(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newFamily()
	for _, status := range job.Statuses {
		require.Contains(t, s.post("{jobs {nodes {status}}}", nil).body, `"`+string(status)+`"`)
	}
	for _, selection := range append(plainSelections(), shapedSelections...) {
		query := "query($id: ID!, $resolve: Boolean!) {" + selection + "}"
		if !strings.Contains(selection, "$id") {
			query = strings.Replace(query, "$id: ID!, ", "", 1)
		}
		byGqlgen := s.post(query, object{"id": id, "resolve": true}).body
		require.Contains(t, byGqlgen, resolvedText, query)
		require.NotContains(t, byGqlgen, `"errors"`)
		plain := s.post(query, object{"id": id, "resolve": false}).body
		require.Equal(t, strings.ReplaceAll(byGqlgen, resolvedText, ""), plain, query)
	}
}

func TestFragmentsAreWrittenPlainlyToo(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.newJob("k")
	require.Equal(t, `{"data":{"jobs":{"nodes":[{"id":"`+id+`","status":"PENDING","kind":"Job","canCancel":true}]}}}`+"\n", s.post(
		`{jobs {nodes {...names ...state}}} fragment names on Node {id} fragment state on Job {status ...names kind: __typename canCancel}`, nil).body)
}

func TestAJobOfWhichNothingIsIncludedIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.newJob("k")
	require.JSONEq(t, `{"data": {"jobs": {"nodes": [{}], "edges": [{"node": {}}]}}}`,
		s.post("{jobs {nodes {id @skip(if: true)} edges {node {id @include(if: false)}}}}", nil).body)
}

func TestAStreamOfALineageTellsTheSameAsTheQuery(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, subscribe follower) {
		s := newServer(t)
		id := s.newFamily()
		lineage := "(jobRecordId: $id) {root {id} jobs {nodes {" + strings.Join(leaves("Job"), " ") + "}} edges {generation source {id} derived {id}}}}"
		read := s.data("query($id: ID!) {lineage"+lineage, object{"id": id})
		stream := subscribe(s, "subscription($id: ID!) {lineageChanged"+lineage, object{"id": id})
		require.Equal(t, read["lineage"], stream.data("lineageChanged"))
	})
}

func TestTheNumberOfResolvedFieldsDoesNotGrowWithTheRows(t *testing.T) {
	t.Parallel()
	var config graph.Config
	s := newServer(t, func(c *graph.Config) { config = *c })
	id := s.newFamily()
	var count atomic.Int64
	s.url = serve(t, graph.NewCountingHandler(config, func() { count.Add(1) }))
	for query, want := range map[string]int64{
		"{jobs {nodes {id status}}}":                   2,
		"{jobs {edges {cursor node {id}}}}":            2,
		`{job(jobRecordId: "` + id + `") {id status}}`: 1,
		`{lineage(jobRecordId: "` + id + `") {ancestry {id} edges {source {id} derived {id} generation}}}`: 3,
		// With a resolver among the fields, each of the five jobs has its own.
		"{jobs {nodes {id replaySource {id}}}}": 2 + 5*2,
	} {
		count.Store(0)
		s.data(query, nil)
		require.Equal(t, want, count.Load(), query)
	}
}
