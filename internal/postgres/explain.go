package postgres

import (
	"context"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

var checkNowSQL = statements.Named("check constraints now")

// Explain implements worker.Queue. It halves the batch: some log2(n) loads for n records, each in a transaction that is rolled back.
func (s *Store) Explain(ctx context.Context, l worker.Lease, sqlState string) int {
	payload, err := s.leasedPayload(ctx, l)
	if err != nil {
		return 0
	}
	batch := job.SplitBatch(payload)
	if state, tried := s.tryLoad(ctx, l, batch.First(0)); !tried || state != "" {
		return 0 // it is not the records
	}
	passes, fails := 0, batch.Len()
	for fails-passes > 1 {
		middle := passes + (fails-passes)/2
		switch state, tried := s.tryLoad(ctx, l, batch.First(middle)); {
		case tried && state == "":
			passes = middle
		case tried && state == sqlState:
			fails = middle
		default:
			return 0
		}
	}
	return fails
}

// tryLoad runs the load with some records, checks what would be checked at the commit, and rolls back. It returns the SQLSTATE that
// this met, or "" when all went well. tried is false when the load did not get to its end or to an error.
func (s *Store) tryLoad(ctx context.Context, l worker.Lease, records []byte) (state string, tried bool) {
	err := s.transact(ctx, append(s.loading(ctx, l, records), db.Exec(checkNowSQL, nil), db.Exec(rollbackSQL, nil))...)
	state = db.SQLState(err)
	return state, state != "" || err == nil
}
