package main

import (
	"context"
	"fmt"

	"fencepost/internal/postgres"
	"fencepost/internal/telemetry"
)

// useReplica lets requests read lists and lineages on a replica, if one is named. It need not be there yet.
func (b *backend) useReplica(ctx context.Context, o databaseOptions, metrics *telemetry.Metrics) error {
	if o.replicaURL == "" {
		return nil
	}
	replica, err := postgres.Open(ctx, o.replicaURL, o.poolSize)
	if err != nil {
		return fmt.Errorf("--replica-url: %w", err)
	}
	b.closeReplica = replica.Close
	b.jobs = postgres.NewReplicatedStore(b.store, replica, metrics.CountReplicaReads(postgres.ReplicaOutcomes...))
	return nil
}
