package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pb33f/jsonschema/v6"
	"github.com/piprate/json-gold/ld"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// offline is a document loader that has nothing: a document that needs a remote context fails.
type offline struct{}

func (offline) LoadDocument(string) (*ld.RemoteDocument, error) {
	return nil, errors.New("a provenance document must need no other")
}

// triples reads a JSON-LD document as RDF. Safe mode fails on every member that would be dropped.
func triples(t require.TestingT, document []byte) []string {
	options := ld.NewJsonLdOptions("")
	options.DocumentLoader = offline{}
	options.SafeMode = true
	options.Format = "application/n-quads"
	input, err := ld.DocumentFromReader(bytes.NewReader(document))
	require.NoError(t, err)
	quads, err := ld.NewJsonLdProcessor().ToRDF(input, options)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(quads.(string)), "\n")
}

// shortened writes N-Quads with prefixes and job numbers, for the eye.
func shortened(quads []string) []string {
	return strings.Split(short.Replace(strings.Join(quads, "\n")), "\n")
}

var short = strings.NewReplacer(
	"http://www.w3.org/ns/prov#", "prov:",
	"http://www.w3.org/2001/XMLSchema#", "xsd:",
	"http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:",
	"urn:uuid:00000000-0000-7000-8000-00000000000", "job",
	"urn:fencepost:agent:service", "service",
	"<", "", ">", "",
)

func TestProvenanceIsTheLineageInPROV(t *testing.T) {
	t.Parallel()
	jobs := smallLineage()[:2]
	assert.ElementsMatch(t, []string{
		"service rdf:type prov:SoftwareAgent .",
		"job0 rdf:type prov:Entity .",
		"job1 rdf:type prov:Entity .",
		"job1 prov:wasDerivedFrom job0 .",
		"job1 prov:wasGeneratedBy job1#replay .",
		"job1#replay rdf:type prov:Activity .",
		"job1#replay prov:used job0 .",
		`job1#replay prov:startedAtTime "2026-11-29T12:00:01.000120Z"^^xsd:dateTime .`,
		"job1#replay prov:wasAssociatedWith service .",
	}, shortened(triples(t, NewLineage(testID(1), jobs).Provenance(nil))))
}

// attempted is a job that was executed in vain once, was claimed again, and then ended.
func attempted(status Status) (j Job, early, late Attempt) {
	j = smallLineage()[0]
	at := func(second int) time.Time { return j.CreatedAt.Add(time.Duration(second) * time.Second) }
	j.Status, j.AttemptCount, j.AttemptStartedAt, j.UpdatedAt = status, 2, at(3), at(4)
	early = Attempt{Number: 1, Outcome: AttemptLeaseLost, StartedAt: at(1), EndedAt: at(2)}
	late = Attempt{Number: 1, Outcome: AttemptRefusedLate, StartedAt: at(1), EndedAt: at(5)}
	return j, early, late
}

func TestProvenanceHasEachAttemptAsAnActivity(t *testing.T) {
	t.Parallel()
	j, early, late := attempted(StatusSucceeded)
	l := NewLineage(j.ID, []Job{j})
	require.Equal(t, []uuid.UUID{j.ID}, l.Exported())
	assert.ElementsMatch(t, []string{
		"service rdf:type prov:SoftwareAgent .",
		"job0 rdf:type prov:Entity .",
		"job0#attempt-1-lease_lost rdf:type prov:Activity .",
		"job0#attempt-1-lease_lost prov:used job0 .",
		"job0#attempt-1-lease_lost prov:wasAssociatedWith service .",
		`job0#attempt-1-lease_lost prov:startedAtTime "2026-11-29T12:00:01.000120Z"^^xsd:dateTime .`,
		`job0#attempt-1-lease_lost prov:endedAtTime "2026-11-29T12:00:02.000120Z"^^xsd:dateTime .`,
		"job0#attempt-1-refused_late rdf:type prov:Activity .",
		"job0#attempt-1-refused_late prov:used job0 .",
		"job0#attempt-1-refused_late prov:wasAssociatedWith service .",
		`job0#attempt-1-refused_late prov:startedAtTime "2026-11-29T12:00:01.000120Z"^^xsd:dateTime .`,
		`job0#attempt-1-refused_late prov:endedAtTime "2026-11-29T12:00:05.000120Z"^^xsd:dateTime .`,
		"job0#attempt-2-succeeded rdf:type prov:Activity .",
		"job0#attempt-2-succeeded prov:used job0 .",
		"job0#attempt-2-succeeded prov:wasAssociatedWith service .",
		`job0#attempt-2-succeeded prov:startedAtTime "2026-11-29T12:00:03.000120Z"^^xsd:dateTime .`,
		`job0#attempt-2-succeeded prov:endedAtTime "2026-11-29T12:00:04.000120Z"^^xsd:dateTime .`,
	}, shortened(triples(t, l.Provenance(map[uuid.UUID]AttemptPage{j.ID: {Attempts: []Attempt{early, late}}}))))
}

func TestProvenanceClaimsNoLastAttemptThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	j, early, late := attempted(StatusCancelled)
	running, _, _ := attempted(StatusRunning)
	back, _, _ := attempted(StatusCancelled)
	back.AttemptCount = 1
	never := j
	never.AttemptStartedAt = time.Time{}
	for name, c := range map[string]struct {
		job  Job
		page AttemptPage
	}{
		"which still runs":          {running, AttemptPage{Attempts: []Attempt{early}}},
		"which was left out":        {j, AttemptPage{Attempts: []Attempt{early, late}, More: true}},
		"which was given back":      {back, AttemptPage{Attempts: []Attempt{early}}},
		"of a time before the last": {never, AttemptPage{Attempts: []Attempt{early}}},
	} {
		require.Equal(t, c.page.Attempts, attemptsOf(c.job, c.page), name)
	}
	lost := AttemptPage{Attempts: []Attempt{late}}
	require.Len(t, attemptsOf(j, lost), 2, "a worker that was refused is none that ended")
}

// TestProvenanceNodesHaveTheShapeOfPROVJSONLD judges each node by the rules that the schema of PROV-JSONLD (W3C Member
// Submission, 2024, appendix A) has for entities, activities and agents: properties with a prefix are arrays of names.
func TestProvenanceNodesHaveTheShapeOfPROVJSONLD(t *testing.T) {
	t.Parallel()
	var document struct {
		Graph []any `json:"@graph"`
	}
	jobs := smallLineage()
	j, early, _ := attempted(StatusFailed)
	jobs[0] = j
	of := map[uuid.UUID]AttemptPage{j.ID: {Attempts: []Attempt{early}}}
	require.NoError(t, json.Unmarshal(NewLineage(testID(0), jobs).Provenance(of), &document))
	require.NotEmpty(t, document.Graph)
	statement := jsonschema.NewCompiler().MustCompile("testdata/prov-jsonld-statement.json")
	for _, node := range document.Graph {
		require.NoError(t, statement.Validate(node))
	}
	for _, wrong := range []string{
		`{"@type": "prov:Entity"}`,
		`{"@id": "a:b", "@type": "prov:Place"}`,
		`{"@id": "a:b", "@type": "prov:Entity", "prov:wasDerivedFrom": "a:c"}`,
		`{"@id": "a:b", "@type": "prov:Entity", "wasDerivedFrom": ["a:c"]}`,
	} {
		var node any
		require.NoError(t, json.Unmarshal([]byte(wrong), &node))
		require.Error(t, statement.Validate(node), wrong)
	}
}

func TestProvenanceHoldsEveryReplayOfALineage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := NewLineage(testID(0), drawTree(t))
		document := l.Provenance(nil)
		assert.Len(t, triples(t, document), 2+7*(l.JobCount()-1))
		assert.Equal(t, document, l.Provenance(nil), "the same lineage gives the same bytes")
	})
}
