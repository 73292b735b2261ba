package server

import (
	"context"
	"fmt"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/replica"
	"fencepost/internal/telemetry"
)

// useReplica lets requests read lists and lineages on a replica, if one is named. It need not be there yet.
func (p *Process) useReplica(ctx context.Context, b *backend, c Config, metrics *telemetry.Metrics) error {
	if c.ReplicaURL == "" {
		return nil
	}
	standby, err := db.Open(ctx, c.ReplicaURL, c.Database.PoolSize)
	if err != nil {
		return fmt.Errorf("--replica-url: %w", err)
	}
	p.atClose(standby.Close)
	b.jobs = replica.New(b.store, standby, metrics.CountReplicaReads(replica.Outcomes...))
	return nil
}
