package server

import (
	"context"
	"fmt"

	"fencepost/internal/postgres"
	"fencepost/internal/telemetry"
)

// useReplica lets requests read lists and lineages on a replica, if one is named. It need not be there yet.
func (p *Process) useReplica(ctx context.Context, b *backend, c Config, metrics *telemetry.Metrics) error {
	if c.ReplicaURL == "" {
		return nil
	}
	replica, err := postgres.Open(ctx, c.ReplicaURL, c.Database.PoolSize)
	if err != nil {
		return fmt.Errorf("--replica-url: %w", err)
	}
	p.atClose(replica.Close)
	b.jobs = postgres.NewReplicatedStore(b.store, replica, metrics.CountReplicaReads(postgres.ReplicaOutcomes...))
	return nil
}
