package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// flushTimeout is how long the end of the process may wait for the last traces to be taken.
const flushTimeout = 5 * time.Second

// Tracing sends traces. Make it with [StartTracing].
type Tracing struct {
	// Provider makes the spans.
	Provider trace.TracerProvider
	stop     func(context.Context) error
}

// StartTracing sends traces where the standard OTEL_* variables of the environment say (OpenTelemetry, "Environment Variable
// Specification"). Nothing is traced unless OTEL_TRACES_EXPORTER or an OTLP endpoint is set. Traces that are not taken are
// dropped and logged as a code.
func StartTracing(ctx context.Context, version string, log *slog.Logger) (*Tracing, error) {
	if !tracingWanted() {
		return &Tracing{noop.NewTracerProvider(), func(context.Context) error { return nil }}, nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %w", err)
	}
	self, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "fencepost"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { // its texts hold addresses, and answers of others
		log.Warn("traces were lost", slog.String("code", "traces_not_exported"))
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	return &Tracing{provider, provider.Shutdown}, nil
}

func tracingWanted() bool {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	disabled := strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none"
	return !disabled && cmp.Or(exporter, endpoint) != ""
}

// Stop sends what is left, for five seconds at most.
func (t *Tracing) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.stop(ctx); err != nil {
		otel.Handle(err)
	}
}
