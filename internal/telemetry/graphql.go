package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// GraphQL observes the operations of the GraphQL door. Make it with [Metrics.GraphQL].
type GraphQL struct {
	metrics     *Metrics
	kinds, code label
	durations   *prometheus.HistogramVec
}

// GraphQL adds the operations of a door whose errors have the given codes, beside those of the problems. Call it once.
func (m *Metrics) GraphQL(codes ...string) GraphQL {
	kinds := labelOf("kind", "query", "mutation", "subscription", "none")
	code := problemCodes()
	code.values = append(code.values, codes...)
	g := GraphQL{m, kinds, code, newHistograms("fencepost_graphql_operation_seconds",
		"Duration of one operation, of a subscription until its end; code is its first problem or error, or empty.",
		operationSeconds, kinds, code)}
	for _, kind := range kinds.values {
		g.durations.WithLabelValues(kind, "")
	}
	m.registry.MustRegister(g.durations)
	return g
}

// OperationBegan times and traces an operation of a kind: query, mutation or subscription, or none when it was refused before that was
// known. The operation runs in the context that is returned; its end is told once, with the code of the first thing that
// went wrong, or with none.
func (g GraphQL) OperationBegan(ctx context.Context, kind string) (_ context.Context, end func(code string)) {
	began := time.Now()
	ctx, span := g.metrics.beginOperation(ctx, g.kinds.constrain(kind))
	return ctx, func(code string) {
		g.durations.WithLabelValues(kind, code).Observe(time.Since(began).Seconds())
		endWithCode(span, g.code.constrain(code))
	}
}
