package operation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// CancelRunning cancels jobs that are being executed, one after the other, while the workers have more to do than they can.
type CancelRunning struct{}

// Title implements Operation.
func (CancelRunning) Title() string { return "cancel of a running job, workers saturated" }

const (
	// longJobs is how many of the workers' executors have a long job, to be cancelled; the others have short ones.
	longJobs    = 4
	longPayload = `[{"id":"long","sleep":60}]`
	// longLoad is the built-in load, with a pause for records that ask for one.
	longLoad = `
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT @owner::bytea, @job_record_id::uuid, ordinal, record ->> 'id', record
FROM jsonb_array_elements(@records::jsonb) WITH ORDINALITY AS element (record, ordinal)
WHERE CASE WHEN record ->> 'sleep' IS NULL THEN true
	ELSE pg_sleep((record ->> 'sleep')::double precision)::text IS NOT NULL END`

	statusPoll = 5 * time.Millisecond
	// backlogFactor times the jobs of a block of workers is a backlog that lasts.
	backlogFactor = 4
)

// Measure implements Operation.
func (o CancelRunning) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	r := compare.Measured(o.Title(), "")
	return r, e.bound(ctx, &r, bounded{
		name: "cancel of a running job, p99, while workers are saturated", unit: "ms", must: 50, aim: 10, measure: o.p99,
	})
}

func (o CancelRunning) p99(ctx context.Context, e *Env, database string) (p99 float64, void string, err error) {
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
	backlog := backlogFactor * e.Workers.Measured.Ops
	first, err := db.Fuel.Pending(ctx, backlog)
	if err != nil {
		return 0, "", err
	}
	stop, err := e.workWith(ctx, db, longLoad)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, stop()) }()
	latency, err := o.cancelAll(ctx, e, db, pool)
	if err != nil {
		return 0, "", err
	}
	left, err := db.Fuel.Count(ctx, first, backlog, job.StatusPending)
	if left == 0 {
		void = "the workers ran out of work"
	}
	return quantile(latency, 99), void, err
}

// workWith starts a worker whose jobs run a statement.
func (e *Env) workWith(ctx context.Context, db *Database, sql string) (stop func() error, err error) {
	path := filepath.Join(filepath.Dir(e.Fencepost.Binary), db.Name+".sql")
	if err := os.WriteFile(path, []byte(sql), 0o600); err != nil {
		return nil, err
	}
	p, err := e.Fencepost.Work(ctx, db.URL, slices.Concat([]string{"--load-sql-file", path}, e.WorkFlags)...)
	if err != nil {
		return nil, err
	}
	return p.Stop, nil
}

// cancelAll makes long jobs, waits until each is running, and measures its cancellation.
func (CancelRunning) cancelAll(ctx context.Context, e *Env, db *Database, pool *pgxpool.Pool) (*hdrhistogram.Histogram, error) {
	var (
		mu     sync.Mutex
		all    = load.NewHistogram()
		failed []error
		wait   sync.WaitGroup
	)
	for range longJobs {
		wait.Go(func() {
			for range e.Timed / longJobs {
				took, err := cancelOne(ctx, db, pool)
				mu.Lock()
				if err != nil {
					failed = append(failed, err)
				} else {
					_ = all.RecordValue(took.Microseconds()) // in range
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return all, errors.Join(failed...)
}

func cancelOne(ctx context.Context, db *Database, pool *pgxpool.Pool) (time.Duration, error) {
	row, err := db.Fuel.PendingSince(ctx, 1, []byte(longPayload), 1, time.Hour)
	if err != nil {
		return 0, err
	}
	if err := awaitRunning(ctx, pool, row); err != nil {
		return 0, err
	}
	began := time.Now()
	body, err := send(ctx, db.Server.Address, restCancel(row))
	took := time.Since(began)
	if err == nil && !strings.Contains(body, `"CANCELLED"`) {
		err = fmt.Errorf("cancel of a running job: %s", body)
	}
	return took, err
}

func awaitRunning(ctx context.Context, pool *pgxpool.Pool, row int64) error {
	tick := time.NewTicker(statusPoll)
	defer tick.Stop()
	for {
		status, err := scan[string](ctx, pool, "SELECT job_status FROM etl_job_records WHERE principal_scope_hash = "+
			seed.OwnerSQL(int(row%seed.Users))+" AND job_record_id = $1", seed.ID(row))
		if err != nil || status == string(job.StatusRunning) {
			return err
		}
		if status != string(job.StatusPending) {
			return fmt.Errorf("a long job is %s before it was cancelled", status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// quantile is in milliseconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1000
}
