package graph

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/graph/generated"
	"fencepost/graph/model"
)

func TestEachFieldIsWrittenPlainlyOrHasAResolver(t *testing.T) {
	t.Parallel()
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	requireEachField(t, schema, plainJob, reflect.TypeFor[generated.JobResolver]())
	requireEachField(t, schema, plainJobEdge, reflect.TypeFor[any]())
	requireEachField(t, schema, plainLineageEdge, reflect.TypeFor[any]())
}

// requireEachField wants every field of a type in just one of three places: the plain leaves, the plain jobs, the resolvers.
func requireEachField[T any](t *testing.T, schema *ast.Schema, plain plainType[T], resolvers reflect.Type) {
	t.Helper()
	definition := schema.Types[plain.names[0]]
	require.Equal(t, append([]string{definition.Name}, definition.Interfaces...), plain.names)
	for _, field := range definition.Fields {
		var places int
		if _, found := plain.leaves[field.Name]; found {
			require.True(t, schema.Types[field.Type.Name()].IsLeafType(), field.Name)
			places++
		}
		if _, found := plain.jobs[field.Name]; found {
			require.Equal(t, "Job!", field.Type.String(), field.Name)
			places++
		}
		if _, found := resolvers.MethodByName(strings.ToUpper(field.Name[:1]) + field.Name[1:]); found {
			places++
		}
		require.Equal(t, 1, places, field.Name)
	}
	require.Len(t, definition.Fields, len(plain.leaves)+len(plain.jobs)+resolvers.NumMethod())
}

func TestWhatHasNoPlainFormIsLeftToGqlgen(t *testing.T) {
	t.Parallel()
	for _, each := range []reflect.Type{reflect.TypeFor[model.Job](), reflect.TypeFor[*model.PageInfo](), reflect.TypeFor[[]string]()} {
		require.Nil(t, appenderOf(each), each)
	}
}

func TestPlainTextIsEscaped(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"a\"b\nc"`, string(appendText(nil, "a\"b\nc")))
}
