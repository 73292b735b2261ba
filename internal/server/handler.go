package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fencepost/graph"
	"fencepost/internal/auth"
	"fencepost/internal/job"
	"fencepost/internal/ratelimit"
	"fencepost/internal/telemetry"
	"fencepost/internal/webui"
	"fencepost/rest"
)

const graphqlPath = "/graphql"

// routes are the paths that requests are counted by.
func routes() []string {
	return slices.Concat([]string{graphqlPath}, rest.Routes(), webui.Routes)
}

// newHandler joins the two doors over one service with the pages that use them. From the moment that running ends the readiness
// check fails, and streams end.
func newHandler(
	running context.Context, c Config, b *backend, usersFile string, metrics *telemetry.Metrics,
) (http.Handler, error) {
	log := c.Runtime.Log
	users, err := auth.Open(usersFile, auth.Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("--users-file: %w", err)
	}
	service := job.NewService(b.jobs, c.Limits, metrics).WithReasons(c.Reasons)
	limiter := metrics.CountRefusals(ratelimit.New(c.Rates, time.Now))
	restDoor := rest.New(rest.Config{
		Service:       service,
		Authenticator: users,
		Limiter:       limiter,
		Ready:         func(request context.Context) error { return cmp.Or(running.Err(), b.ready(request)) },
		RetryAfter:    c.Worker.PollInterval,
		Log:           log,
		OnProblem:     telemetry.NoteProblem,
	})
	graphDoor := graph.NewHandler(graph.Config{
		Service:       service,
		Limiter:       limiter,
		Feed:          b.feed,
		WebSockets:    b.sockets,
		Closing:       running.Done(),
		Introspection: c.Introspection,
		Observer:      metrics.GraphQL(graph.ErrorCodes...),
		Log:           log,
	})
	graphDoor = users.Require(graphDoor, graph.Unauthenticated)
	pages := users.Require(webui.New(), webui.Unauthenticated)
	return metrics.Observe(log, byPath(graphDoor, pages, restDoor)), nil
}

// byPath compares the path as it was sent. An [http.ServeMux] would redirect paths that it finds unclean.
func byPath(graphDoor, pages, restDoor http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); {
		case path == graphqlPath:
			graphDoor.ServeHTTP(w, r)
		case webui.Serves(path):
			pages.ServeHTTP(w, r)
		default:
			restDoor.ServeHTTP(w, r)
		}
	})
}
