// Package retention removes jobs that ended long ago.
package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var purge, countPurgeable = statements.Named("purge"), statements.Named("count purgeable")

// Policy says what a purge removes, and how.
type Policy struct {
	// OlderThan is how long ago the latest change of a lineage must be, by the database's clock.
	OlderThan time.Duration
	// BatchSize is how many jobs one transaction looks at. It removes at most as many lineages, with all their replays.
	BatchSize int
	// DryRun counts and removes nothing.
	DryRun bool
}

// Purged counts what a purge has removed, or would remove.
type Purged struct{ Lineages, Jobs, LedgerRows int }

// A purgedPage is what one statement has done, and the last job that it looked at.
type purgedPage struct {
	Purged
	Owner []byte
	JobID uuid.UUID
}

// Purge removes lineages of which every job is terminal and old, each with its rows of the ledger, in one transaction a batch.
// What the jobs loaded stays. Keys of removed jobs are forgotten, and make new jobs when they are used again.
//
// It returns what it has removed even when it fails or ctx ends, upon which the batch that runs is still finished. It can be
// called again for the rest at any time, also at once with itself.
func Purge(ctx context.Context, pool *pgxpool.Pool, p Policy) (Purged, error) {
	var total Purged
	page := purgedPage{Owner: []byte{}}
	for ctx.Err() == nil {
		var err error
		page, err = p.purgePage(context.WithoutCancel(ctx), pool, page)
		if errors.Is(err, pgx.ErrNoRows) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
		total.Lineages += page.Lineages
		total.Jobs += page.Jobs
		total.LedgerRows += page.LedgerRows
	}
	return total, ctx.Err()
}

// purgePage takes the page behind another one. When a replay has come in between, the next try sees it.
func (p Policy) purgePage(ctx context.Context, conn db.Conn, behind purgedPage) (page purgedPage, err error) {
	statement := purge
	if p.DryRun {
		statement = countPurgeable
	}
	args := statements.Args{"behind_owner": behind.Owner, "behind_id": behind.JobID, "age": p.OlderThan, "batch_size": p.BatchSize}
	for range db.MaxTries {
		err = db.Send(ctx, conn, db.Row(statement, args, func(row pgx.Row) error {
			return row.Scan(&page.Lineages, &page.Jobs, &page.LedgerRows, &page.Owner, &page.JobID)
		}))
		if !stillReferenced(err) {
			break
		}
	}
	return page, err
}

// stillReferenced reports whether a foreign key has refused a deletion. The code is another one since PostgreSQL 18.
func stillReferenced(err error) bool {
	return slices.Contains([]string{"23503", "23001"}, db.SQLState(err))
}
