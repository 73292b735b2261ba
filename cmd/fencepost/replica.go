package main

import (
	"context"
	"fmt"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/replica"
	"fencepost/internal/telemetry"
)

// useReplica lets requests read lists and lineages on a replica, if one is named. It need not be there yet.
func (b *backend) useReplica(ctx context.Context, o databaseOptions, metrics *telemetry.Metrics) error {
	if o.replicaURL == "" {
		return nil
	}
	standby, err := db.Open(ctx, o.replicaURL, o.poolSize)
	if err != nil {
		return fmt.Errorf("--replica-url: %w", err)
	}
	b.closeReplica = standby.Close
	b.jobs = replica.New(b.store, standby, metrics.CountReplicaReads(replica.Outcomes...))
	return nil
}
