package operation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
)

// Bloat lets one table see a great many jobs from their submission to their end, with the server's own settings of autovacuum.
type Bloat struct{}

// Title implements Operation.
func (Bloat) Title() string { return "bloat" }

const (
	tenths = 10
	// bloatBatch is how many jobs are submitted at once. There are always as many, or up to twice as many, to do.
	bloatBatch    = 10_000
	bloatPoll     = 250 * time.Millisecond
	bloatPatience = 2 * time.Minute
)

// executedSQL is an estimate that costs nothing, a second old at most; to count would slow the workers down.
const executedSQL = `SELECT coalesce(sum(n_tup_ins), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'etl_idempotency_records'`

// life is a table on its way.
type life struct {
	db   *Database
	pool *pgxpool.Pool
	// submitted is the number of jobs so far.
	submitted int64
	sizes     map[string]*compare.Curve
}

// Measure implements Operation.
func (o Bloat) Measure(ctx context.Context, e *Env) (r compare.Result, err error) {
	r = compare.Measured(o.Title(), "")
	db, err := e.Seed(ctx, "bloat", 0, 0)
	if err != nil {
		return r, err
	}
	pool, err := e.pool(ctx, db.URL)
	if err != nil {
		return r, err
	}
	l := &life{db: db, pool: pool, sizes: map[string]*compare.Curve{}}
	worker, err := e.Fencepost.Work(ctx, db.URL, e.WorkFlags...)
	if err != nil {
		return r, err
	}
	defer worker.Stop() //nolint:errcheck // what it has done is in the ledger
	if err := l.feed(ctx, e.Cliffs.Lives); err != nil {
		return r, err
	}
	if err := l.await(ctx); err != nil {
		return r, err
	}
	rates, err := l.rates(ctx)
	if err != nil {
		return r, err
	}
	last := rates.Points[len(rates.Points)-1].Y
	r.Goals = append(r.Goals, compare.AtLeast(
		"jobs a second, last tenth of "+name(l.submitted)+" / first tenth", 0.7, 0.9, last/rates.Points[0].Y))
	l.report(&r, rates)
	return r, nil
}

// feed submits all jobs, never many more than the workers have executed, and notes the sizes ten times.
func (l *life) feed(ctx context.Context, lives int64) error {
	tick := time.NewTicker(bloatPoll)
	defer tick.Stop()
	for noted := int64(0); l.submitted < lives; <-tick.C {
		executed, err := scan[int64](ctx, l.pool, executedSQL)
		if err != nil {
			return err
		}
		if l.submitted-executed >= bloatBatch {
			continue
		}
		batch := min(bloatBatch, lives-l.submitted)
		if _, err := l.db.Fuel.Pending(ctx, batch); err != nil {
			return err
		}
		l.submitted += batch
		if tenth := l.submitted * tenths / lives; tenth > noted {
			noted = tenth
			if err := l.note(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizesSQL has the sizes of the table and of each of its indexes, for each of $1 jobs, and the dead rows.
const sizesSQL = `
SELECT 'Size of table', pg_table_size('etl_job_records') / $1::double precision, 'bytes a job'
UNION ALL
SELECT 'Size of ' || replace(indexrelid::regclass::text, 'etl_job_records_', ''), pg_relation_size(indexrelid) / $1, 'bytes a job'
FROM pg_index WHERE indrelid = 'etl_job_records'::regclass
UNION ALL
SELECT 'Dead rows', n_dead_tup, 'rows' FROM pg_stat_user_tables WHERE relname = 'etl_job_records'`

// note adds a point to the curve of each size.
func (l *life) note(ctx context.Context) error {
	rows, err := l.pool.Query(ctx, sizesSQL, float64(l.submitted))
	if err != nil {
		return err
	}
	var of, unit string
	var size float64
	_, err = pgx.ForEachRow(rows, []any{&of, &size, &unit}, func() error {
		curve, found := l.sizes[of]
		if !found {
			curve = &compare.Curve{Name: of + " by jobs", X: "jobs", Y: unit}
			l.sizes[of] = curve
		}
		curve.Add(float64(l.submitted), size)
		return nil
	})
	return err
}

// await returns when all jobs have been executed.
func (l *life) await(ctx context.Context) error {
	tick := time.NewTicker(bloatPoll)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < bloatPatience; <-tick.C {
		executed, err := scan[int64](ctx, l.pool, executedSQL)
		if err != nil {
			return err
		}
		if executed >= l.submitted {
			break
		}
	}
	executed, err := scan[int64](ctx, l.pool, "SELECT count(*) FROM etl_idempotency_records")
	if err == nil && executed < l.submitted {
		err = fmt.Errorf("%d of %d jobs were executed", executed, l.submitted)
	}
	return err
}

// rates are those of each tenth of the jobs.
func (l *life) rates(ctx context.Context) (compare.Curve, error) {
	curve := compare.Curve{Name: "Rate of jobs by jobs before", X: "jobs", Y: "a second"}
	times, err := scan[[]time.Time](ctx, l.pool, `SELECT percentile_disc(ARRAY[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
		WITHIN GROUP (ORDER BY executed_at) FROM etl_idempotency_records`)
	if err != nil {
		return curve, err
	}
	jobs := float64(l.submitted) / tenths
	for tenth, began := range times[:tenths] {
		curve.Add(float64(tenth+1)*jobs, jobs/times[tenth+1].Sub(began).Seconds())
	}
	return curve, nil
}

// report adds the rates, and the first and the last of the sizes.
func (l *life) report(r *compare.Result, rates compare.Curve) {
	for _, p := range rates.Points {
		r.Numbers = append(r.Numbers, compare.Number{Name: "jobs a second up to job " + name(int64(p.X)), Value: p.Y})
	}
	for _, of := range slices.Sorted(maps.Keys(l.sizes)) {
		curve := l.sizes[of]
		for _, p := range []compare.Point{curve.Points[0], curve.Points[len(curve.Points)-1]} {
			r.Numbers = append(r.Numbers, compare.Number{
				Name: fmt.Sprintf("%s after %s jobs", of, name(int64(p.X))), Value: p.Y, Unit: curve.Y,
			})
		}
	}
}
