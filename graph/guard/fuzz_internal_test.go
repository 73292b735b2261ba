package guard

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"fencepost/graph/generated"
)

// A document is measured by what it says and not by how it is spelled, and an error of validation is told in a fixed text.
func FuzzDocument(f *testing.F) {
	for _, document := range []string{
		"", "{__typename}", "query q($id: ID!) {job(jobRecordId: $id) {id ...f}} fragment f on Job {a: status @include(if: true)}",
		"{...A} fragment A on Query {...A}", `mutation {cancelJob(input: {jobRecordId: "x", idempotencyKey: "k"}) {__typename}}`,
		"subscription {jobChanged(jobRecordId: 1) {id}}", "{jobs(first: 5000000000, filter: {status: [NOPE]}) {nodes {id}}}", "{a b", `{a(b: """c""")}`,
	} {
		f.Add(document)
	}
	schema, rules := generated.NewExecutableSchema(generated.Config{}).Schema(), validationRules()
	f.Fuzz(func(t *testing.T, text string) {
		if checkExtent(text) != nil {
			return
		}
		document, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(document.Operations), maxOperations)
		var written bytes.Buffer
		formatter.NewFormatter(&written).FormatQueryDocument(document)
		again, err := parser.ParseQuery(&ast.Source{Input: written.String()})
		require.NoError(t, err)
		require.Equal(t, extentsOf(document), extentsOf(again))
		for _, fault := range validator.ValidateWithRules(schema, document, rules) {
			require.Contains(t, ruleTexts, strings.TrimSuffix(fault.Rule, "WithoutSuggestions"))
		}
	})
}

// extentsOf measures each operation of a document.
func extentsOf(document *ast.QueryDocument) []extent {
	var all []extent
	for _, operation := range document.Operations {
		all = append(all, newMeasure(document).selectionSet(operation.SelectionSet))
	}
	return all
}
