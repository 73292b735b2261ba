package main

import (
	"context"
	"log/slog"

	"fencepost/internal/telemetry"
)

// startTelemetry makes the metrics of a process that serves the routes, and starts its traces. Call stop at the end.
func startTelemetry(ctx context.Context, log *slog.Logger, routes ...string) (_ *telemetry.Metrics, stop func(), _ error) {
	tracing, err := telemetry.StartTracing(ctx, version(), log)
	if err != nil {
		return nil, nil, err
	}
	metrics := telemetry.NewMetrics(routes...)
	metrics.BuiltFrom(version())
	metrics.TraceWith(tracing.Provider)
	return metrics, tracing.Stop, nil
}
