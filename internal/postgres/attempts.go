package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
)

var attemptsSQL = statements.Named("attempts")

// Attempts implements job.Store.
func (r Reader) Attempts(ctx context.Context, owner job.Owner, ids []uuid.UUID, p job.AttemptsAfter) (map[uuid.UUID][]job.Attempt, error) {
	type attempt struct {
		id uuid.UUID
		job.Attempt
	}
	rows, err := query(ctx, r, "attempts", func(row pgx.CollectableRow) (a attempt, err error) {
		err = row.Scan(&a.id, &a.Number, &a.Outcome, &a.StartedAt, &a.EndedAt, &a.SQLState)
		a.StartedAt, a.EndedAt = a.StartedAt.UTC(), a.EndedAt.UTC()
		return a, err
	}, attemptsSQL, statements.Args{
		"owner": owner[:], "ids": ids, "limit": p.Limit, "after_number": p.Number, "after_outcome": p.Outcome,
	})
	attempts := make(map[uuid.UUID][]job.Attempt, len(ids))
	for _, a := range rows {
		attempts[a.id] = append(attempts[a.id], a.Attempt)
	}
	return attempts, err
}
