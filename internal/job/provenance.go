package job

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ProvenanceAttempts asks for the attempts that a provenance document tells of each job: so many of the first.
var ProvenanceAttempts = PageRequest{Limit: 10}

// provenanceAgent is the one agent of every replay: the service itself, never a principal.
const provenanceAgent = "urn:fencepost:agent:service"

// provenanceContext maps the members that a [Lineage.Provenance] document uses to IRIs. It stands in the document itself,
// so that a reader fetches nothing.
var provenanceContext = json.RawMessage(`{
	"prov": "http://www.w3.org/ns/prov#",
	"xsd": "http://www.w3.org/2001/XMLSchema#",
	"prov:startedAtTime": {"@type": "xsd:dateTime"},
	"prov:endedAtTime": {"@type": "xsd:dateTime"},
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

// provenanceNode is an agent, an entity (a job) or an activity (the replay that made one, an attempt to execute one). Every property is
// an array, as in the statements of PROV-JSONLD (W3C Member Submission, 2024), though each has one value.
type provenanceNode struct {
	ID                string   `json:"@id"`
	Type              string   `json:"@type"`
	StartedAtTime     []string `json:"prov:startedAtTime,omitempty"`
	EndedAtTime       []string `json:"prov:endedAtTime,omitempty"`
	Used              []string `json:"prov:used,omitempty"`
	WasAssociatedWith []string `json:"prov:wasAssociatedWith,omitempty"`
	WasGeneratedBy    []string `json:"prov:wasGeneratedBy,omitempty"`
	WasDerivedFrom    []string `json:"prov:wasDerivedFrom,omitempty"`
}

// Provenance exports the lineage as a W3C PROV-O graph in JSON-LD (contract section 6), with the attempts of those of its jobs that are in
// the map: its pages are the answer of [Service.Attempts] for [Lineage.Exported] and [ProvenanceAttempts]. The same lineage always gives
// the same bytes. When the lineage is truncated, so is the graph.
func (l Lineage) Provenance(attempts map[uuid.UUID]AttemptPage) []byte {
	graph := []provenanceNode{{ID: provenanceAgent, Type: "prov:SoftwareAgent"}}
	for _, j := range l.connected() {
		graph = append(graph, provenanceOf(j)...)
		for _, a := range attemptsOf(j, attempts[j.ID]) {
			graph = append(graph, provenanceOfAttempt(j, a))
		}
	}
	// Strings and a valid raw message always marshal.
	document, _ := json.Marshal(provenanceDocument{Context: provenanceContext, Graph: graph})
	return document
}

// Exported are the jobs that [Lineage.Provenance] tells of.
func (l Lineage) Exported() []uuid.UUID {
	jobs := l.connected()
	ids := make([]uuid.UUID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
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

// attemptsOf are the attempts that did not end a job and, where nothing of them was left out, the one that did.
func attemptsOf(j Job, page AttemptPage) []Attempt {
	attempts := page.Attempts
	for _, a := range attempts {
		if a.Number == j.AttemptCount && a.Outcome != AttemptRefusedLate {
			return attempts // it was given back before it was cancelled, or its last lease was lost
		}
	}
	if page.More || j.AttemptStartedAt.IsZero() || !j.Status.Terminal() {
		return attempts
	}
	last := AttemptOutcome(strings.ToLower(string(j.Status)))
	return append(attempts[:len(attempts):len(attempts)], Attempt{
		Number: j.AttemptCount, Outcome: last, StartedAt: j.AttemptStartedAt, EndedAt: j.UpdatedAt,
	})
}

// provenanceOfAttempt is an activity that used a job. Its name has the outcome, since a worker that came back too late has the number of
// the attempt that it had lost.
func provenanceOfAttempt(j Job, a Attempt) provenanceNode {
	return provenanceNode{
		ID:                fmt.Sprintf("%s#attempt-%d-%s", j.ID.URN(), a.Number, a.Outcome),
		Type:              "prov:Activity",
		StartedAtTime:     []string{FormatTime(a.StartedAt)},
		EndedAtTime:       []string{FormatTime(a.EndedAt)},
		Used:              []string{j.ID.URN()},
		WasAssociatedWith: []string{provenanceAgent},
	}
}
