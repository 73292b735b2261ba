package operation

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// WorkerRate runs jobs of three records.
type WorkerRate struct{}

// Title implements Operation.
func (WorkerRate) Title() string { return "worker" }

// The statements that take jobs and end one. A lease that succeeds is one of [seed.Fuel.Running].
var (
	claimStatement = statement{"claim", func(string, []string) map[string]string {
		return map[string]string{
			"limit": fmt.Sprint(claimedAtOnce), "worker_id": "gen_random_uuid()", "duration": "interval '1 minute'", "max_attempts": "5",
			"failure_code": "'" + string(job.FailureAttemptsExhausted) + "'", "max_claimed_payload": "16384",
		}
	}}
	succeedStatement = statement{"succeed", func(owner string, ids []string) map[string]string {
		return with(ofRow(owner, ids), map[string]string{"claim_id": ids[0]})
	}}
)

// claimedAtOnce is how many jobs a worker at rest claims, with as many executors as it has by default.
const claimedAtOnce = 32

// Measure implements Operation.
func (o WorkerRate) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	worker, err := e.worker(ctx, "worker")
	if err != nil {
		return compare.Result{}, err
	}
	c := compare.Comparison{Name: o.Title(), Targets: []compare.Target{worker}}
	if e.Old != nil {
		old := e.as(e.Old).workerOn(worker.DatabaseURL, worker.Pool)
		old.Label = "old " + target.WorkerName
		c.Targets = append(c.Targets, old)
		c.Goals = append(c.Goals, against("worker", target.WorkerName, old.Label))
	}
	if e.Peers {
		peer, err := e.river(ctx)
		if err != nil {
			return compare.Result{}, err
		}
		c.Targets = append(c.Targets, peer)
		c.Goals = append(c.Goals, compare.Goal{
			Name: "worker, everything on / tuned River on the same work",
			Over: target.WorkerName, Under: target.RiverName, Must: 1.5, Aim: 2.5,
		})
	}
	return c.Run(ctx, e.Workers, e.Cluster.Checkpoint)
}

// worker makes a worker on a database of its own.
func (e *Env) worker(ctx context.Context, database string) (*target.Worker, error) {
	url, err := e.Empty(ctx, database)
	if err != nil {
		return nil, err
	}
	pool, err := e.pool(ctx, url)
	return e.workerOn(url, pool), err
}

// workerOn makes a worker on a migrated database.
func (e *Env) workerOn(databaseURL string, pool *pgxpool.Pool) *target.Worker {
	return &target.Worker{Fencepost: e.Fencepost, Flags: e.WorkFlags, DatabaseURL: databaseURL, Pool: pool}
}

func (e *Env) river(ctx context.Context) (*target.River, error) {
	url, err := e.Empty(ctx, "river")
	if err != nil {
		return nil, err
	}
	peer, err := target.NewRiver(ctx, url)
	if err == nil {
		e.closers = append(e.closers, peer.Close)
	}
	return peer, err
}

// pool is for the harness's own questions to a database, until the run ends.
func (e *Env) pool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, url)
	if err == nil {
		e.closers = append(e.closers, func() error { pool.Close(); return nil })
	}
	return pool, err
}
