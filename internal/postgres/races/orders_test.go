package races

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// exec is a step of plain SQL that must match one row.
func exec(sql string, args ...any) step {
	return func(ctx context.Context, tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, sql, args...)
		return tag.RowsAffected() == 1, err
	}
}

// send is a step of one of the product's statements that must match one row.
func send(name string, args statements.Args) step {
	return func(ctx context.Context, tx pgx.Tx) (bool, error) {
		tag, err := storetest.Send(ctx, tx, name, args)
		return tag.RowsAffected() == 1, err
	}
}

// cancelActor takes the statement that cancellations share, and the one that waits where that passed the job over.
func (w *world) cancelActor(j job.Job) actor {
	args := storetest.CancelArgs(w.Owner, j.ID, w.CancelHash(j, "cancel"))
	shared, waiting := send("cancel", args), send("cancel waiting", args)
	return actor{name: "cancel", makes: job.StatusCancelled, steps: []step{func(ctx context.Context, tx pgx.Tx) (bool, error) {
		won, err := shared(ctx, tx)
		if won || err != nil {
			return won, err
		}
		return waiting(ctx, tx)
	}}}
}

// waitingCancelActor takes the statement that waits at once.
func (w *world) waitingCancelActor(name string, j job.Job) actor {
	args := storetest.CancelArgs(w.Owner, j.ID, w.CancelHash(j, name))
	return actor{name: name, makes: job.StatusCancelled, steps: []step{send("cancel waiting", args)}}
}

// executeActor takes the statements of an execution that goes alone one by one. Where the fence matches nothing, the ledger refuses
// its row.
func executeActor(l worker.Lease) actor {
	return actor{name: "execute", makes: job.StatusSucceeded, steps: []step{
		func(ctx context.Context, tx pgx.Tx) (bool, error) {
			_, err := storetest.Send(ctx, tx, "load", storetest.LoadArgs(l))
			return true, err
		},
		func(ctx context.Context, tx pgx.Tx) (bool, error) {
			_, err := storetest.Send(ctx, tx, "succeed", storetest.LeaseArgs(l, nil))
			if pgErr, refused := errors.AsType[*pgconn.PgError](err); refused && pgErr.Code == "23502" {
				return false, nil
			}
			return true, err
		},
	}}
}

// sharedExecuteActor takes the statement that executions share. One that it passes over goes alone, in a transaction of its own.
func sharedExecuteActor(l worker.Lease) actor {
	return actor{name: "execute", makes: job.StatusSucceeded, steps: []step{send("execute", storetest.ExecuteArgs(l))}}
}

func retryActor(l worker.Lease) actor {
	args := storetest.LeaseArgs(l, statements.Args{"delay": time.Duration(0), "faults": 1, "outcome": job.AttemptRetried, "sql_state": "40001"})
	return actor{name: "retry", steps: []step{send("retry", args)}, makes: job.StatusPending}
}

func failActor(l worker.Lease) actor {
	args := storetest.LeaseArgs(l, statements.Args{
		"failure_code": job.FailureTarget, "sql_state": "23505", "record_ordinal": 1, "constraint_name": "",
	})
	return actor{name: "fail", steps: []step{send("fail", args)}, makes: job.StatusFailed}
}

func claimActor(name string) actor {
	return actor{name: name, steps: []step{send("claim", storetest.ClaimArgs(1))}, makes: job.StatusRunning}
}

// expireActor is the time that passes: the lease of the job ends.
func expireActor(j job.Job) actor {
	return actor{name: "expire", steps: []step{exec(`UPDATE etl_job_records SET lease_expires_at = clock_timestamp()
		WHERE job_record_id = $1 AND job_status = 'RUNNING'`, j.ID)}}.committingAtOnce()
}

func deleteActor(j job.Job) actor {
	return actor{name: "delete", byAdmin: true, steps: []step{exec("DELETE FROM etl_job_records WHERE job_record_id = $1", j.ID)}}
}

// purgeActor removes every lineage that has ended.
func purgeActor() actor {
	purge := statements.Named("purge")
	args := purge.Positional(statements.Args{"behind_owner": []byte{}, "behind_id": uuid.Nil, "age": time.Duration(0), "batch_size": 100})
	return actor{name: "purge", byAdmin: true, steps: []step{func(ctx context.Context, tx pgx.Tx) (bool, error) {
		var lineages int
		err := tx.QueryRow(ctx, purge.SQL, args...).Scan(&lineages, nil, nil, nil, nil)
		return lineages > 0, err
	}}}
}

func (w *world) submitActor(name string, payload []byte) actor {
	return actor{name: name, steps: []step{send("submit", storetest.SubmitArgs(w.NewJob("k", payload)))}}
}

func (w *world) replayActor(name string, source job.Job) actor {
	return actor{name: name, steps: []step{send("replay", storetest.ReplayArgs(source.ID, w.NewReplay(source, "k")))}}
}

// The numbers are how many of the orders end with the commits of exactly those actors. They add up to all orders.
func TestEveryOrderOfStatementsKeepsTheBooksBalanced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		actors func(*world) []actor
		want   map[string]int
	}{
		"waiting cancel, execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), executeActor(l)}
		}, map[string]int{"cancel": 7, "execute": 3}},
		"waiting cancel under two keys, execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), w.waitingCancelActor("other", j).committingAtOnce(), executeActor(l)}
		}, map[string]int{"cancel": 32, "other": 16, "execute": 12}},
		"cancel, execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.cancelActor(j), executeActor(l)}
		}, map[string]int{"cancel": 7, "execute": 3}},
		"cancel, cancel under another key, execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.cancelActor(j), w.waitingCancelActor("other", j).committingAtOnce(), executeActor(l)}
		}, map[string]int{"cancel": 32, "other": 16, "execute": 12}},
		"cancel, claim, claim": {func(w *world) []actor {
			j := w.Submit()
			return []actor{w.cancelActor(j), claimActor("claim"), claimActor("again")}
		}, map[string]int{"cancel": 30, "cancel claim": 30, "cancel again": 30}},
		"waiting cancel, shared execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), sharedExecuteActor(l)}
		}, map[string]int{"cancel": 3, "execute": 3}},
		"cancel, cancel under another key, shared execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.cancelActor(j), w.waitingCancelActor("other", j).committingAtOnce(), sharedExecuteActor(l)}
		}, map[string]int{"cancel": 12, "other": 6, "execute": 12}},
		"shared execute, shared execute": {func(w *world) []actor {
			_, l := w.RunningJob()
			again := sharedExecuteActor(l)
			again.name = "again"
			return []actor{sharedExecuteActor(l), again}
		}, map[string]int{"execute": 3, "again": 3}},
		"expire, claim, shared execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{expireActor(j), claimActor("claim"), sharedExecuteActor(l)}
		}, map[string]int{"expire": 4, "expire claim": 6, "execute": 20}},
		"waiting cancel, shared execute, replay": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), sharedExecuteActor(l), w.replayActor("replay", j).committingAtOnce()}
		}, map[string]int{"cancel": 9, "cancel replay": 6, "execute": 15}},
		"retry, execute": {func(w *world) []actor {
			_, l := w.RunningJob()
			return []actor{retryActor(l), executeActor(l)}
		}, map[string]int{"retry": 7, "execute": 3}},
		"expire, claim, execute": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{expireActor(j), claimActor("claim"), executeActor(l)}
		}, map[string]int{"expire": 14, "expire claim": 16, "execute": 30}},
		"waiting cancel, retry, claim": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), retryActor(l), claimActor("claim")}
		}, map[string]int{"cancel": 45, "cancel retry": 42, "cancel retry claim": 3}},
		"waiting cancel, claim, claim": {func(w *world) []actor {
			j := w.Submit()
			return []actor{w.waitingCancelActor("cancel", j), claimActor("claim"), claimActor("again")}
		}, map[string]int{"cancel": 30, "cancel claim": 30, "cancel again": 30}},
		"submit, submit, submit of other bytes under one key": {func(w *world) []actor {
			return []actor{w.submitActor("submit", storetest.Batch), w.submitActor("again", storetest.Batch), w.submitActor("other", []byte(`[]`))}
		}, map[string]int{"submit": 30, "again": 30, "other": 30}},
		"replay, replay, delete of the source": {func(w *world) []actor {
			j := w.FailedJob()
			return []actor{w.replayActor("replay", j), w.replayActor("again", j), deleteActor(j)}
		}, map[string]int{"replay": 30, "again": 30, "delete": 30}},
		"replay, purge, purge": {func(w *world) []actor {
			j := w.FailedJob()
			again := purgeActor()
			again.name = "again"
			return []actor{w.replayActor("replay", j), purgeActor(), again}
		}, map[string]int{"replay": 30, "purge": 30, "again": 30}},
		"fail, replay, purge": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{failActor(l), w.replayActor("replay", j), purgeActor()}
		}, map[string]int{"fail": 66, "fail purge": 12, "fail replay": 12}},
		"fail, replay, delete of the source": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{failActor(l), w.replayActor("replay", j), deleteActor(j)}
		}, map[string]int{"delete": 45, "fail delete": 42, "fail replay": 3}},
		"waiting cancel, execute, replay": {func(w *world) []actor {
			j, l := w.RunningJob()
			return []actor{w.waitingCancelActor("cancel", j), executeActor(l), w.replayActor("replay", j).committingAtOnce()}
		}, map[string]int{"cancel": 26, "cancel replay": 16, "execute": 18}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.Equal(t, c.want, w.search(func() []actor { return c.actors(w) }))
		})
	}
}

// Where each waits for the other, PostgreSQL ends one of them, and which one is chance.
func TestSharedExecutionAndOneAloneOfTheSameJobNeverBothSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ends := w.search(func() []actor {
		_, l := w.RunningJob()
		alone := executeActor(l)
		alone.name = "alone"
		return []actor{sharedExecuteActor(l), alone}
	})
	require.Len(t, ends, 2)
	require.Equal(t, 10, ends["execute"]+ends["alone"])
}
