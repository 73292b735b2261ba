package telemetry

import (
	"context"
	"io"
	"log/slog"
)

// LogFormats are the accepted formats of log lines, and LogLevels the accepted levels.
var (
	LogFormats = []string{"text", "json"}
	LogLevels  = []string{"debug", "info", "warn", "error"}
)

// NewLogger makes a logger that writes lines of one of [LogFormats] ("text" unless it is "json") at one of [LogLevels]
// ("info" unless it is another) and above. A line that is logged with a request's context carries its request id.
func NewLogger(w io.Writer, format, level string) *slog.Logger {
	var threshold slog.Level
	_ = threshold.UnmarshalText([]byte(level)) // what is not a level leaves info
	options := &slog.HandlerOptions{Level: threshold}
	if format == "json" {
		return slog.New(contextHandler{slog.NewJSONHandler(w, options)})
	}
	return slog.New(contextHandler{slog.NewTextHandler(w, options)})
}

// contextHandler adds the request id of the context to each line.
type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if x := exchangeOf(ctx); x != nil {
		r.AddAttrs(slog.String("request_id", x.requestID))
	}
	return h.Handler.Handle(ctx, r)
}

func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
