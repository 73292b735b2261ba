package server

import (
	"context"

	"fencepost/internal/telemetry"
)

// startTelemetry makes the metrics of a process that serves the routes, and starts its traces.
func (p *Process) startTelemetry(ctx context.Context, r Runtime, routes ...string) (*telemetry.Metrics, error) {
	tracing, err := telemetry.StartTracing(ctx, r.Version, r.Log)
	if err != nil {
		return nil, err
	}
	p.atClose(tracing.Stop)
	metrics := telemetry.NewMetrics(routes...)
	metrics.BuiltFrom(r.Version)
	metrics.TraceWith(tracing.Provider)
	return metrics, nil
}
