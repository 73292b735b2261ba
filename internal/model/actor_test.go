package model_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"

	"fencepost/internal/job"
	"fencepost/internal/model"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/worker"
)

// payloads are the two that actors submit.
var payloads = []string{`[{"id":"a"},{"id":"b"}]`, `[]`}

// reasons are the two that actors cancel for.
var reasons = []string{job.CancellationByOwner, "wrong_batch"}

// system is the service on a database. The owner's calls and the workers' have pools of their own, so that only the
// former can be cut.
type system struct {
	owners, workers *pgxpool.Pool
	admin           *pgxpool.Pool // for what the server's role may not do
	service         *job.Service
	queue           worker.Queue
	closing         []func()
}

func newSystem(ctx context.Context, url, adminURL string) (*system, error) {
	owners, err := db.Open(ctx, url, 8)
	if err != nil {
		return nil, err
	}
	workers, err := db.Open(ctx, url, 8)
	if err != nil {
		return nil, err
	}
	admin, err := db.Open(ctx, adminURL, 8)
	if err != nil {
		return nil, err
	}
	allowed, err := job.ParseReasons(reasons[1])
	if err != nil {
		return nil, err
	}
	config := postgres.Config{LockTimeout: 20 * time.Second, CallTimeout: 30 * time.Second}
	forOwners, forWorkers := postgres.NewStore(owners, config), postgres.NewStore(workers, config)
	return &system{
		owners: owners, workers: workers, admin: admin,
		service: job.NewService(forOwners, job.Limits{MaxPayloadBytes: 1 << 10, MaxBatchRecords: 10}, job.Unobserved{}).WithReasons(allowed),
		queue:   forWorkers,
		closing: []func(){forOwners.Close, forWorkers.Close, owners.Close, workers.Close, admin.Close},
	}, nil
}

func (s *system) close() {
	for _, end := range s.closing {
		end()
	}
}

// actor is a client and a worker of one owner's jobs. It records what it calls.
type actor struct {
	*system
	number int
	owner  job.Owner
	known  map[int]uuid.UUID // by name
	leases []worker.Lease
	events []model.Event
}

func (a *actor) run(ctx context.Context, steps []planned) error {
	a.known = map[int]uuid.UUID{}
	for _, p := range steps {
		if err := a.step(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.Do, err)
		}
	}
	return nil
}

func (a *actor) step(ctx context.Context, p planned) error {
	switch p.Do {
	case model.Submit:
		return a.submit(ctx, p.Name%submissions, p.Bytes)
	case model.Claim:
		return a.claim(ctx)
	case model.Execute, model.Retry, model.Fail, model.Expire:
		return a.work(ctx, p)
	default:
		return a.ask(ctx, p)
	}
}

// ask makes a call about the job that the plan names. A job whose id the actor does not know yet is submitted first; a
// replay that it does not know is passed over.
func (a *actor) ask(ctx context.Context, p planned) error {
	if _, known := a.known[p.Name]; !known && p.Name < submissions {
		if err := a.submit(ctx, p.Name, p.Bytes); err != nil {
			return err
		}
	}
	id, known := a.known[p.Name]
	if !known {
		return nil
	}
	return a.act(ctx, p, id)
}

// act makes a call about a known job.
func (a *actor) act(ctx context.Context, p planned, id uuid.UUID) error {
	switch p.Do {
	case model.Cancel:
		return a.cancel(ctx, id, p.Key, p.Reason)
	case model.Replay:
		return a.replay(ctx, id, p.Key, p.Bytes)
	case model.Read:
		return a.read(ctx, id)
	default:
		return a.inspect(ctx, id)
	}
}

// record makes a call and notes when it began and ended and what came back.
func (a *actor) record(e model.Event, call func(*model.Event) error) error {
	e.Actor = a.number
	e.Call = now()
	err := call(&e)
	e.Return = now()
	a.events = append(a.events, e)
	return err
}

// now reads the clock that all processes of a machine share.
func now() int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return at.Nano()
}

func keyOf(text string) job.Key {
	key, _ := job.ParseKey(text) // made of letters and digits
	return key
}

// take notes the answer to an owner's write. Only a problem is an answer; any other error ends the test.
func take(e *model.Event, accepted job.Accepted, err error) error {
	var problem *job.Problem
	if errors.As(err, &problem) {
		e.Answer.Refusal, e.Answer.Job = problem.Code, problem.Job
		return nil
	}
	e.Answer.Job, e.Answer.Replayed = &accepted.Job, accepted.Replayed
	return err
}

func (a *actor) submit(ctx context.Context, name, bytes int) error {
	e := model.Event{Do: model.Submit, Key: fmt.Sprint(name), Bytes: payloads[bytes]}
	return a.record(e, func(e *model.Event) error {
		accepted, err := a.service.Submit(ctx, a.owner, keyOf(e.Key), []byte(e.Bytes))
		err = take(e, accepted, err)
		if err == nil && e.Answer.Job != nil {
			a.known[name] = e.Answer.Job.ID
		}
		return err
	})
}

func (a *actor) cancel(ctx context.Context, id uuid.UUID, key, reason int) error {
	e := model.Event{Do: model.Cancel, Job: id, Key: fmt.Sprint(key), Reason: reasons[reason]}
	return a.record(e, func(e *model.Event) error {
		accepted, err := a.service.Cancel(ctx, a.owner, id.String(), keyOf(e.Key), e.Reason)
		return take(e, accepted, err)
	})
}

func (a *actor) replay(ctx context.Context, source uuid.UUID, key, bytes int) error {
	e := model.Event{Do: model.Replay, Job: source, Key: fmt.Sprint(key), Bytes: payloads[bytes]}
	return a.record(e, func(e *model.Event) error {
		accepted, err := a.service.Replay(ctx, a.owner, source.String(), keyOf(e.Key), []byte(e.Bytes))
		err = take(e, accepted, err)
		if err == nil && e.Answer.Refusal == "" {
			a.known[submissions+key] = e.Answer.Job.ID
		}
		return err
	})
}

func (a *actor) read(ctx context.Context, id uuid.UUID) error {
	return a.record(model.Event{Do: model.Read, Job: id}, func(e *model.Event) error {
		j, err := a.service.Get(ctx, a.owner, id.String())
		e.Answer.Job = &j
		return err
	})
}

const inspectSQL = `
SELECT job_status, record_count,
	(SELECT count(*) FROM processed_data WHERE job_record_id = $1),
	(SELECT count(*) FROM etl_idempotency_records WHERE job_record_id = $1)
FROM etl_job_records WHERE job_record_id = $1`

func (a *actor) inspect(ctx context.Context, id uuid.UUID) error {
	return a.record(model.Event{Do: model.Inspect, Job: id}, func(e *model.Event) error {
		e.Answer.Job = &job.Job{ID: id}
		return a.admin.QueryRow(ctx, inspectSQL, id).
			Scan(&e.Answer.Job.Status, &e.Answer.Job.RecordCount, &e.Answer.Effects, &e.Answer.Ledger)
	})
}

func (a *actor) expire(ctx context.Context, id uuid.UUID) error {
	return a.record(model.Event{Do: model.Expire, Job: id}, func(e *model.Event) error {
		tag, err := a.workers.Exec(ctx, `UPDATE etl_job_records SET lease_expires_at = clock_timestamp()
			WHERE job_record_id = $1 AND job_status = 'RUNNING'`, id)
		e.Answer.Matched = tag.RowsAffected() == 1
		return err
	})
}

func (a *actor) claim(ctx context.Context) error {
	return a.record(model.Event{Do: model.Claim}, func(e *model.Event) error {
		claimed, err := a.queue.Claim(ctx, worker.ClaimRequest{
			WorkerID: uuid.New(), Limit: 1, Duration: time.Hour, MaxAttempts: maxAttempts,
		})
		e.Answer.Exhausted = len(claimed.Exhausted)
		for _, l := range claimed.Leases {
			e.Job, e.Lease, e.Answer.Attempt = l.JobID, l.ClaimID, l.Attempt
			a.leases = append(a.leases, l)
		}
		return err
	})
}

// work gives a verdict on a lease, or lets it expire: mostly the latest lease, whether it is still live or not. Without any
// lease it claims first.
func (a *actor) work(ctx context.Context, p planned) error {
	if len(a.leases) == 0 {
		if err := a.claim(ctx); err != nil || len(a.leases) == 0 {
			return err
		}
	}
	l := a.leases[max(0, len(a.leases)-1-p.Lease)]
	if p.Do == model.Expire {
		return a.expire(ctx, l.JobID)
	}
	return a.verdict(ctx, p.Do, l)
}

func (a *actor) verdict(ctx context.Context, do model.Action, l worker.Lease) error {
	return a.record(model.Event{Do: do, Job: l.JobID, Lease: l.ClaimID}, func(e *model.Event) error {
		err := a.giveVerdict(ctx, do, l)
		e.Answer.Matched = err == nil
		if errors.Is(err, worker.ErrStale) {
			return nil
		}
		return err
	})
}

func (a *actor) giveVerdict(ctx context.Context, do model.Action, l worker.Lease) error {
	switch do {
	case model.Execute:
		return a.execute(ctx, l)
	case model.Retry:
		return a.queue.Retry(ctx, l, worker.Return{Outcome: job.AttemptRetried})
	default:
		return a.queue.Fail(ctx, l, worker.Failure{Code: job.FailureTarget})
	}
}

// execute fails the job whose load failed, as a worker does. Here that only happens under a lease that has gone, after whose end
// another execution loaded the same rows, so it matches nothing; if it did, the history would have no explanation.
func (a *actor) execute(ctx context.Context, l worker.Lease) error {
	err := a.queue.Execute(ctx, l)
	if failure, failed := errors.AsType[*worker.LoadError](err); failed {
		return a.queue.Fail(ctx, l, failure.Failure)
	}
	return err
}
