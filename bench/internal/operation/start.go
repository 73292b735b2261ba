package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/target"
)

// StartLatency submits jobs to an idle system, and looks when each began to be executed.
type StartLatency struct{}

// Title implements Operation.
func (StartLatency) Title() string { return "submit to start, idle" }

const (
	// startPause is the time between two submissions: long enough for everything to become idle again.
	startPause = 50 * time.Millisecond
	// startLoad notes when the execution has reached the load.
	startLoad = `INSERT INTO started (job_record_id) SELECT @job_record_id::uuid WHERE @records::jsonb IS NOT NULL AND @owner::bytea IS NOT NULL`
	startSQL  = `CREATE TABLE started (job_record_id uuid PRIMARY KEY, started_at timestamptz NOT NULL DEFAULT clock_timestamp())`
)

// Measure implements Operation.
func (o StartLatency) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	r := compare.Measured(o.Title(), "")
	return r, e.bound(ctx, &r, bounded{
		name: "submit → start of execution when idle, p99", unit: "ms", must: 50, aim: 10, measure: o.p99,
	})
}

func (StartLatency) p99(ctx context.Context, e *Env, database string) (p99 float64, void string, err error) {
	db, err := e.Seed(ctx, database, 0, 0)
	if err != nil {
		return 0, "", err
	}
	if err := target.SignIn(db.Server.Address); err != nil {
		return 0, "", err
	}
	pool, err := e.pool(ctx, db.URL)
	if err != nil {
		return 0, "", err
	}
	if _, err := pool.Exec(ctx, startSQL); err != nil {
		return 0, "", err
	}
	stop, err := e.workWith(ctx, db, startLoad)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, stop()) }()
	first := db.Fuel.Reserve(e.Timed)
	sent, err := submitSlowly(ctx, db, e.Timed, startPause, func(n int64) target.Request { return restSubmit(first + n) })
	if err != nil {
		return 0, "", err
	}
	p99, err = startLatency(ctx, pool, sent)
	return p99, "", err
}

// submitSlowly returns when the submission of each job was sent.
func submitSlowly(
	ctx context.Context, db *Database, count int64, pause time.Duration, request func(n int64) target.Request,
) (map[uuid.UUID]time.Time, error) {
	sent := map[uuid.UUID]time.Time{}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := range count {
		now := time.Now()
		body, err := send(ctx, db.Server.Address, request(n))
		if err != nil {
			return nil, err
		}
		var accepted struct{ JobRecordID uuid.UUID }
		if err := json.Unmarshal([]byte(body), &accepted); err != nil {
			return nil, err
		}
		sent[accepted.JobRecordID] = now
		<-tick.C
	}
	return sent, nil
}

// startLatency is the 99th percentile in milliseconds. Both clocks are this machine's.
func startLatency(ctx context.Context, pool *pgxpool.Pool, sent map[uuid.UUID]time.Time) (float64, error) {
	rows, err := pool.Query(ctx, "SELECT job_record_id, started_at FROM started")
	if err != nil {
		return 0, err
	}
	started, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		ID uuid.UUID
		At time.Time
	}])
	if err == nil && len(started) != len(sent) {
		err = fmt.Errorf("%d of %d jobs were started", len(started), len(sent))
	}
	if err != nil {
		return 0, err
	}
	all := load.NewHistogram()
	for _, s := range started {
		_ = all.RecordValue(max(1, s.At.Sub(sent[s.ID]).Microseconds())) // in range
	}
	return quantile(all, 99), nil
}
