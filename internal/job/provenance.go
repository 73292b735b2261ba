package job

import "encoding/json"

// provenanceAgent is the one agent of every replay: the service itself, never a principal.
const provenanceAgent = "urn:fencepost:agent:service"

// provenanceContext maps the members that a [Lineage.Provenance] document uses to IRIs. It stands in the document itself,
// so that a reader fetches nothing.
var provenanceContext = json.RawMessage(`{
	"prov": "http://www.w3.org/ns/prov#",
	"xsd": "http://www.w3.org/2001/XMLSchema#",
	"prov:startedAtTime": {"@type": "xsd:dateTime"},
	"prov:used": {"@type": "@id"},
	"prov:wasAssociatedWith": {"@type": "@id"},
	"prov:wasGeneratedBy": {"@type": "@id"},
	"prov:wasDerivedFrom": {"@type": "@id"}
}`)

// provenanceDocument is a JSON-LD 1.1 document.
type provenanceDocument struct {
	Context json.RawMessage  `json:"@context"`
	Graph   []provenanceNode `json:"@graph"`
}

// provenanceNode is an agent, an entity (a job) or an activity (the replay that made one). Every property is an array, as in
// the statements of PROV-JSONLD (W3C Member Submission, 2024), though each has one value.
type provenanceNode struct {
	ID                string   `json:"@id"`
	Type              string   `json:"@type"`
	StartedAtTime     []string `json:"prov:startedAtTime,omitempty"`
	Used              []string `json:"prov:used,omitempty"`
	WasAssociatedWith []string `json:"prov:wasAssociatedWith,omitempty"`
	WasGeneratedBy    []string `json:"prov:wasGeneratedBy,omitempty"`
	WasDerivedFrom    []string `json:"prov:wasDerivedFrom,omitempty"`
}

// Provenance exports the lineage as a W3C PROV-O graph in JSON-LD (contract section 6). The same lineage always gives the
// same bytes. When the lineage is truncated, so is the graph.
func (l Lineage) Provenance() []byte {
	graph := []provenanceNode{{ID: provenanceAgent, Type: "prov:SoftwareAgent"}}
	for _, j := range l.connected() {
		graph = append(graph, provenanceOf(j)...)
	}
	// Strings and a valid raw message always marshal.
	document, _ := json.Marshal(provenanceDocument{Context: provenanceContext, Graph: graph})
	return document
}

// provenanceOf is a job's entity and, for a replay, the activity that made it.
func provenanceOf(j Job) []provenanceNode {
	entity := provenanceNode{ID: j.ID.URN(), Type: "prov:Entity"}
	if j.Derivation == nil {
		return []provenanceNode{entity}
	}
	activity := provenanceNode{
		ID:                entity.ID + "#replay",
		Type:              "prov:Activity",
		StartedAtTime:     []string{FormatTime(j.CreatedAt)}, // a lexical form of xsd:dateTime
		Used:              []string{j.SourceID.URN()},
		WasAssociatedWith: []string{provenanceAgent},
	}
	entity.WasGeneratedBy, entity.WasDerivedFrom = []string{activity.ID}, activity.Used
	return []provenanceNode{entity, activity}
}
