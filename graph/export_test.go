package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// NewCountingHandler is [NewHandler], and calls count for each field that gqlgen resolves by itself.
func NewCountingHandler(c Config, count func()) http.Handler {
	server := newServer(c.withDefaults())
	server.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		count()
		return next(ctx)
	})
	return newDoor(c, server)
}

// NewHandlerOfDocuments is [NewHandler], and calls validating before each validation of a document.
func NewHandlerOfDocuments(c Config, validating func()) http.Handler {
	server := newServer(c.withDefaults())
	server.SetValidationRulesFn(func() *rules.Rules {
		validating()
		return rules.NewDefaultRules()
	})
	return newDoor(c, server)
}
