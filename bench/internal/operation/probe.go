package operation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

const (
	// probeUser submits single jobs, while the workers are busy with a flood of floodUser's.
	floodUser, probeUser = 0, 1
	probePause           = 100 * time.Millisecond
	probePoll            = 250 * time.Millisecond
	// probePatience is how long is waited for the last of the probes.
	probePatience = 30 * time.Second
)

// flooded makes a database with a server and a flood of jobs.
func (e *Env) flooded(ctx context.Context, database string, flood seed.Flood) (*Database, *pgxpool.Pool, error) {
	db, err := e.Seed(ctx, database, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := db.Fuel.Flood(ctx, flood); err != nil {
		return nil, nil, err
	}
	pool, err := e.pool(ctx, db.URL)
	return db, pool, err
}

// probe runs a worker on a database with a flood, of which nothing has been executed yet. It submits jobs of another owner and
// takes the time until the ledger has each. Both clocks are this machine's.
func (e *Env) probe(ctx context.Context, title string, db *Database, pool *pgxpool.Pool, flood int64) (r compare.Result, err error) {
	if err := target.SignIn(db.Server.Address); err != nil {
		return r, err
	}
	worker, err := e.Fencepost.Work(ctx, db.URL, e.WorkFlags...)
	if err != nil {
		return r, err
	}
	defer worker.Stop() //nolint:errcheck // what it has done is in the ledger
	first := db.Fuel.Reserve(e.Cliffs.Probes)
	sent, err := submitSlowly(ctx, db, e.Cliffs.Probes, probePause, func(n int64) target.Request {
		request := restSubmit(first + n)
		request.User = probeUser
		return request
	})
	if err != nil {
		return r, err
	}
	executed, err := awaitProbes(ctx, pool, len(sent))
	if err != nil {
		return r, err
	}
	return judgeProbes(ctx, title, pool, flood, sent, executed)
}

// awaitProbes returns when each probe was executed, and leaves out those that take too long.
func awaitProbes(ctx context.Context, pool *pgxpool.Pool, count int) (map[uuid.UUID]time.Time, error) {
	tick := time.NewTicker(probePoll)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		rows, err := pool.Query(ctx, "SELECT job_record_id, executed_at FROM etl_idempotency_records WHERE principal_scope_hash = "+
			seed.OwnerSQL(probeUser))
		if err != nil {
			return nil, err
		}
		executed := map[uuid.UUID]time.Time{}
		var id uuid.UUID
		var at time.Time
		_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error { executed[id] = at; return nil })
		if err != nil || len(executed) == count || time.Since(began) > probePatience {
			return executed, err
		}
	}
}

// judgeProbes also tells how fast the workers were, and so how long the whole flood takes: in a queue without owners, that is
// what a job behind it waits.
func judgeProbes(
	ctx context.Context, title string, pool *pgxpool.Pool, flood int64, sent, executed map[uuid.UUID]time.Time,
) (compare.Result, error) {
	var done int64
	var began, ended time.Time
	err := pool.QueryRow(ctx, `SELECT count(*), min(executed_at), max(executed_at)
		FROM etl_idempotency_records WHERE principal_scope_hash = `+seed.OwnerSQL(floodUser)).Scan(&done, &began, &ended)
	if err != nil {
		return compare.Result{}, err
	}
	void := ""
	if ended.Before(slices.MaxFunc(slices.Collect(maps.Values(sent)), time.Time.Compare)) {
		void = "the flood did not last"
	}
	all := waits(sent, executed, time.Now())
	r := compare.Measured(title, void, compare.AtMost(
		"single job beside "+name(flood)+" of another owner, submit → executed, p99", "ms", 500, 100, quantile(all, 99)))
	rate := float64(done) / ended.Sub(began).Seconds()
	r.Numbers = []compare.Number{
		{Name: "single job, submit → executed, p50", Value: quantile(all, 50), Unit: "ms"},
		{Name: fmt.Sprintf("single jobs of %d that were not executed in time", len(sent)), Value: float64(len(sent) - len(executed))},
		{Name: "jobs of the flood a second meanwhile", Value: rate},
		{Name: "the whole flood at that rate", Value: float64(flood) / rate, Unit: "s"},
	}
	return r, nil
}

// waits counts a job that was not executed as if it had been now.
func waits(sent, executed map[uuid.UUID]time.Time, now time.Time) *hdrhistogram.Histogram {
	all := load.NewHistogram()
	for id, began := range sent {
		ended, found := executed[id]
		if !found {
			ended = now
		}
		took := min(ended.Sub(began), time.Duration(all.HighestTrackableValue())*time.Microsecond)
		_ = all.RecordValue(max(1, took.Microseconds())) // in range
	}
	return all
}
