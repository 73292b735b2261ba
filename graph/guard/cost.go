package guard

import (
	"context"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// MaxCost is about how many values an operation may ask for. It lets a page draw the largest lineage, each of whose edges has
// some five values, and nothing that nests one such list in another.
const MaxCost = 50_000

// checkCost refuses an operation over MaxCost. gqlgen's own limit tells the two numbers in its text alone. What a field costs
// is told by the schema's complexity functions.
func checkCost(ctx context.Context, schema graphql.ExecutableSchema, op *graphql.OperationContext) *gqlerror.Error {
	if cost := complexity.Calculate(ctx, schema, op.Operation, op.Variables); cost > MaxCost {
		return tooComplex("cost", cost, MaxCost)
	}
	return nil
}

// ListCost is the cost of a list of at most so many items, each of which costs so much. It saturates, because nested lists
// multiply.
func ListCost(item, length int) int { return add(1, min(max(item, 1), 1<<30)*length) }
