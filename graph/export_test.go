package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
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
