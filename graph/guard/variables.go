package guard

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/fault"
	"fencepost/graph/model"
	"fencepost/graph/scalar"
)

const badVariable = "A variable has no value, or one that its type does not have."

// checkVariables refuses the values of variables that the GraphQL specification refuses and gqlparser lets pass: text for a
// number and a number for text, an Int of more than 32 bits, an enum value in other letters, and members that an input type
// does not have.
func checkVariables(schema *ast.Schema, op *graphql.OperationContext) *gqlerror.Error {
	for _, definition := range op.Operation.VariableDefinitions {
		if !fits(schema, definition.Type, op.Variables[definition.Variable]) {
			refused := fault.New(model.ErrorCodeBadUserInput, badVariable)
			refused.Path = ast.Path{ast.PathName("variable"), ast.PathName(definition.Variable)}
			return refused
		}
	}
	return nil
}

// fits reports whether a value that gqlparser let pass is one of the type. Whether null is allowed has been checked.
func fits(schema *ast.Schema, t *ast.Type, value any) bool {
	if value == nil {
		return true
	}
	if t.Elem != nil {
		return itemsFit(schema, t.Elem, reflect.ValueOf(value))
	}
	definition := schema.Types[t.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		return membersFit(schema, definition, value)
	case ast.Enum:
		name, ok := value.(string)
		return ok && definition.EnumValues.ForName(name) != nil
	default:
		return scalarFits(definition.Name, value)
	}
}

// maxItems bounds a list, which every field that takes the variable reads again. No list of the schema needs a tenth of it.
const maxItems = 100

// itemsFit checks a list, which need not be of the type []any: gqlparser makes a single value a list of its own type.
func itemsFit(schema *ast.Schema, item *ast.Type, list reflect.Value) bool {
	if list.Len() > maxItems {
		return false
	}
	for i := range list.Len() {
		if !fits(schema, item, list.Index(i).Interface()) {
			return false
		}
	}
	return true
}

func membersFit(schema *ast.Schema, definition *ast.Definition, value any) bool {
	for name, member := range value.(map[string]any) {
		field := definition.Fields.ForName(name)
		if field == nil || !fits(schema, field.Type, member) {
			return false
		}
	}
	return true
}

func scalarFits(name string, value any) bool {
	switch name {
	case "Int":
		n, ok := value.(int64)
		return ok && n >= math.MinInt32 && n <= math.MaxInt32
	case "String":
		_, ok := value.(string)
		return ok
	case "ID":
		return idFits(value)
	case "DateTime":
		_, err := scalar.UnmarshalDateTime(value)
		return err == nil
	default: // Boolean, which gqlparser checks
		return true
	}
}

// idFits takes text and whole numbers, as the specification does. No number is the id of a job.
func idFits(value any) bool {
	if number, ok := value.(json.Number); ok {
		_, err := strconv.ParseInt(number.String(), 10, 64)
		return err == nil
	}
	return true
}
