package guard

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/fault"
	"fencepost/graph/model"
)

// Install puts the guard in front of everything that a server executes.
func Install(server *handler.Server, schema graphql.ExecutableSchema) {
	documents := newDocumentCache()
	server.SetQueryCache(documents)
	server.SetDisableSuggestion(true)
	server.SetValidationRulesFn(validationRules)
	server.Use(admission{schema, documents})
}

// admission decides, at the two points that gqlgen has for it and under every transport, whether an operation is executed.
type admission struct {
	schema    graphql.ExecutableSchema
	documents documentCache
}

// ExtensionName is gqlgen's name for it.
func (admission) ExtensionName() string { return "Admission" }

// Validate has nothing to check at the start.
func (admission) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters sees the document as text, before gqlgen does anything with it. gqlgen only remembers documents
// that have passed here, so those need not be measured again.
func (a admission) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, passed := a.documents.Get(ctx, params.Query); passed {
		return nil
	}
	return checkExtent(params.Query)
}

// MutateOperationContext sees the valid document and its variables, before anything is resolved.
func (a admission) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if refused := checkVariables(a.schema.Schema(), op); refused != nil {
		return refused
	}
	if refused := checkSubscription(op); refused != nil {
		return refused
	}
	return checkCost(ctx, a.schema, op)
}

// checkSubscription wants the one field at the top that gqlgen can follow. Validation lets two names for the same field
// pass, and a field that @skip or @include leaves out.
func checkSubscription(op *graphql.OperationContext) *gqlerror.Error {
	if op.Operation.Operation != ast.Subscription {
		return nil
	}
	if fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"}); len(fields) != 1 {
		return fault.New(model.ErrorCodeGraphqlValidationFailed, ruleTexts["SingleFieldSubscriptions"])
	}
	return nil
}

// tooComplex refuses a document and says what was too much of what.
func tooComplex(limit string, requested, allowed int) *gqlerror.Error {
	refused := fault.New(model.ErrorCodeQueryTooComplex, "The operation asks for too much at once.")
	refused.Extensions["limit"] = limit
	refused.Extensions["requested"] = requested
	refused.Extensions["allowed"] = allowed
	return refused
}
