package guard

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/fault"
	"fencepost/graph/model"
)

// Explain tells in a fixed text why gqlgen or its parser refused a document or its variables, or is nil for any other error.
func Explain(err *gqlerror.Error) *gqlerror.Error {
	switch code := err.Extensions["code"]; {
	case code == errcode.ParseFailed:
		return fault.New(model.ErrorCodeGraphqlParseFailed, "The document is not well-formed GraphQL.")
	case code == errcode.ValidationFailed && len(err.Path) > 0:
		return fault.New(model.ErrorCodeBadUserInput, badVariable)
	case code == errcode.ValidationFailed:
		return fault.New(model.ErrorCodeGraphqlValidationFailed, ruleText(err.Rule))
	default:
		return nil
	}
}

// VariablePosition finds where the variable that an error's path names is declared, or nil when it names none.
func VariablePosition(ctx context.Context, path ast.Path) *ast.Position {
	if len(path) < 2 || path[0] != ast.PathName("variable") || graphql.GetFieldContext(ctx) != nil {
		return nil
	}
	name, _ := path[1].(ast.PathName)
	definition := graphql.GetOperationContext(ctx).Operation.VariableDefinitions.ForName(string(name))
	return definition.Position
}
