package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/load"
)

// ledger is the table in which every executed job leaves one row, by whichever worker.
type ledger struct{ pool *pgxpool.Pool }

const (
	ledgerPoll = 250 * time.Millisecond
	// ledgerPatience is how long nothing may happen.
	ledgerPatience = 30 * time.Second
)

// middleSQL takes the time from the first tenth of the rows to the last one, so that starting and running dry do not count.
const middleSQL = `
SELECT count(*) FILTER (WHERE executed_at BETWEEN began AND ended), extract(epoch FROM ended - began)::double precision
FROM etl_idempotency_records, (
	SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY executed_at) AS began,
		percentile_disc(0.9) WITHIN GROUP (ORDER BY executed_at) AS ended
	FROM etl_idempotency_records
) AS middle
GROUP BY began, ended`

// await returns when there are as many rows as jobs, and tells the rate at which the middle ones came.
func (l ledger) await(ctx context.Context, jobs int64) (load.Sample, error) {
	began, lastSeen, lastChange := time.Now(), int64(0), time.Now()
	for {
		var seen int64
		if err := l.pool.QueryRow(ctx, "SELECT count(*) FROM etl_idempotency_records").Scan(&seen); err != nil {
			return load.Sample{}, err
		}
		if seen >= jobs {
			break
		}
		if seen > lastSeen {
			lastSeen, lastChange = seen, time.Now()
		}
		if time.Since(lastChange) > ledgerPatience {
			return load.Sample{
				Ops: seen, Misses: jobs - seen, Elapsed: time.Since(began), FirstError: "jobs were never executed",
			}, nil
		}
		if err := pause(ctx, ledgerPoll); err != nil {
			return load.Sample{}, err
		}
	}
	var (
		s       load.Sample
		seconds float64
	)
	err := l.pool.QueryRow(ctx, middleSQL).Scan(&s.Ops, &seconds)
	s.Elapsed = time.Duration(seconds * float64(time.Second))
	return s, err
}

// clear empties the ledger, what was loaded, and further tables.
func (l ledger) clear(ctx context.Context, further ...string) error {
	tables := strings.Join(append([]string{"etl_idempotency_records", "processed_data"}, further...), ", ")
	if _, err := l.pool.Exec(ctx, "TRUNCATE "+tables); err != nil {
		return fmt.Errorf("clear %s: %w", tables, err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
