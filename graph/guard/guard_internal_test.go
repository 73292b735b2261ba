package guard

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
)

func TestEveryRuleHasAText(t *testing.T) {
	t.Parallel()
	for rule := range validationRules().GetInner() {
		require.Contains(t, ruleTexts, strings.TrimSuffix(rule, "WithoutSuggestions"))
	}
	require.NotContains(t, ruleTexts, "")
}

func TestLongDocumentsAreNotRemembered(t *testing.T) {
	t.Parallel()
	cache := newDocumentCache()
	cache.Add(t.Context(), "short", nil)
	long := strings.Repeat("x", 9<<10)
	cache.Add(t.Context(), long, nil)
	_, found := cache.Get(t.Context(), "short")
	require.True(t, found)
	_, found = cache.Get(t.Context(), long)
	require.False(t, found)
}

func TestAdmissionIsNamedForGqlgen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Admission", admission{}.ExtensionName())
}

func TestADocumentThatHasPassedIsNotMeasuredAgain(t *testing.T) {
	t.Parallel()
	a := admission{documents: newDocumentCache()}
	params := &graphql.RawParams{Query: strings.Repeat("{a", 16) + strings.Repeat("}", 16)}
	require.NotNil(t, a.MutateOperationParameters(t.Context(), params))
	a.documents.Add(t.Context(), params.Query, nil)
	require.Nil(t, a.MutateOperationParameters(t.Context(), params))
}
