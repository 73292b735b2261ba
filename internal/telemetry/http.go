package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/felixge/httpsnoop"
	"github.com/google/uuid"

	"fencepost/internal/job"
)

// exchange is what becomes known about a request while it is handled.
type exchange struct {
	requestID string
	route     string
	code      job.Code
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// NoteProblem tells which problem answers the request that ctx belongs to. It does nothing outside of [Metrics.Observe].
func NoteProblem(ctx context.Context, code job.Code) {
	if x := exchangeOf(ctx); x != nil {
		x.code = code
	}
}

// Observe counts and times the requests that next handles, and logs one line for each at debug level. It gives every
// request a random id of its own, in its log lines and in the X-Request-Id header of its response. Neither metrics nor
// lines hold the path, only the route that it belongs to.
func (m *Metrics) Observe(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{requestID: uuid.NewString(), route: m.routes.of(r)}
		ctx, span := m.beginRequest(r, x.route)
		r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
		w.Header().Set("X-Request-Id", x.requestID)
		answer := httpsnoop.CaptureMetrics(next, w, r)
		m.record(log, r, x, answer)
		endRequest(span, answer.Code, m.problems.constrain(string(x.code)))
	})
}

func (m *Metrics) record(log *slog.Logger, r *http.Request, x *exchange, answer httpsnoop.Metrics) {
	route, status := x.route, fmt.Sprintf("%dxx", answer.Code/100)
	m.requests.WithLabelValues(route, r.Method, status, string(x.code)).Inc()
	m.requestDuration.WithLabelValues(route, status).Observe(answer.Duration.Seconds())
	log.LogAttrs(r.Context(), slog.LevelDebug, "request answered",
		slog.String("route", route),
		slog.Int("status", answer.Code),
		slog.String("code", string(x.code)),
		slog.Duration("took", answer.Duration))
}

// routes finds the pattern of a request's path. It is a mux of which only the matching is used.
type routes struct{ mux *http.ServeMux }

func newRoutes(patterns []string) routes {
	mux := http.NewServeMux()
	for _, pattern := range patterns {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	return routes{mux}
}

func (r routes) of(request *http.Request) string {
	_, pattern := r.mux.Handler(request)
	return cmp.Or(pattern, other)
}
