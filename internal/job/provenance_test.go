package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

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
	}, shortened(triples(t, NewLineage(testID(1), jobs).Provenance())))
}

// TestProvenanceNodesHaveTheShapeOfPROVJSONLD judges each node by the rules that the schema of PROV-JSONLD (W3C Member
// Submission, 2024, appendix A) has for entities, activities and agents: properties with a prefix are arrays of names.
func TestProvenanceNodesHaveTheShapeOfPROVJSONLD(t *testing.T) {
	t.Parallel()
	var document struct {
		Graph []any `json:"@graph"`
	}
	require.NoError(t, json.Unmarshal(NewLineage(testID(0), smallLineage()).Provenance(), &document))
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
		document := l.Provenance()
		assert.Len(t, triples(t, document), 2+7*(l.JobCount()-1))
		assert.Equal(t, document, l.Provenance(), "the same lineage gives the same bytes")
	})
}
