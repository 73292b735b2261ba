package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// exec is a step of one statement that must match one row.
func exec(sql string, args ...any) step {
	return func(ctx context.Context, tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, sql, args...)
		return tag.RowsAffected() == 1, err
	}
}

func (w *world) cancelActor(name string, j job.Job) actor {
	return actor{name: name, steps: []step{exec(cancelSQL, w.owner[:], j.ID, cancelHash(w, j, name), job.CancellationByOwner)}, makes: job.StatusCancelled}
}

// gatheredCancelActor takes the statement of gathered cancellations, and the one of a single one where that passed the job over.
func (w *world) gatheredCancelActor(j job.Job) actor {
	hash := cancelHash(w, j, "cancel")
	gathered := exec(gatheredCancelSQL, [][]byte{w.owner[:]}, []uuid.UUID{j.ID}, [][]byte{hash}, job.CancellationByOwner)
	alone := exec(cancelSQL, w.owner[:], j.ID, hash, job.CancellationByOwner)
	return actor{name: "cancel", makes: job.StatusCancelled, steps: []step{func(ctx context.Context, tx pgx.Tx) (bool, error) {
		won, err := gathered(ctx, tx)
		if won || err != nil {
			return won, err
		}
		return alone(ctx, tx)
	}}}
}

// executeActor takes the statements of Store.Execute one by one. Where the fence matches nothing, the ledger refuses its row.
func (w *world) executeActor(l worker.Lease) actor {
	load, args := w.store.config.Load.sql, w.store.config.Load.args(l, l.Payload)
	return actor{name: "execute", makes: job.StatusSucceeded, steps: []step{
		func(ctx context.Context, tx pgx.Tx) (bool, error) {
			_, err := tx.Exec(ctx, load, args)
			return true, err
		},
		func(ctx context.Context, tx pgx.Tx) (bool, error) {
			_, err := tx.Exec(ctx, succeedSQL, l.Owner[:], l.JobID, l.ClaimID)
			if err != nil && errors.Is(loadError(err), worker.ErrStale) {
				return false, nil
			}
			return true, err
		},
	}}
}

// gatheredExecuteActor takes the statement of gathered executions. One that it passes over goes alone, in a transaction of its own.
func gatheredExecuteActor(l worker.Lease) actor {
	return actor{name: "execute", makes: job.StatusSucceeded, steps: []step{exec(gatheredExecutionSQL,
		[][]byte{l.Owner[:]}, []uuid.UUID{l.JobID}, []uuid.UUID{l.ClaimID}, []json.RawMessage{l.Payload})}}
}

func (w *world) retryActor(l worker.Lease) actor {
	return actor{name: "retry", steps: []step{exec(retrySQL, w.owner[:], l.JobID, l.ClaimID, time.Duration(0))}, makes: job.StatusPending}
}

func (w *world) failActor(l worker.Lease) actor {
	return actor{name: "fail", steps: []step{exec(failSQL, w.owner[:], l.JobID, l.ClaimID, job.FailureTarget)}, makes: job.StatusFailed}
}

func claimActor(name string) actor {
	return actor{name: name, steps: []step{exec(claimSQL, 1, uuid.New(), time.Minute, maxAttempts, job.FailureAttemptsExhausted, maxClaimedPayload)}, makes: job.StatusRunning}
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
	return actor{name: "purge", byAdmin: true, steps: []step{func(ctx context.Context, tx pgx.Tx) (bool, error) {
		purged, err := purgeStep(ctx, tx)
		return purged.Lineages > 0, err
	}}}
}

func (w *world) submitActor(name string, payload []byte) actor {
	n := w.newJob("k", payload)
	return actor{name: name, steps: []step{exec(submitSQL, n.Owner[:], n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, n.Payload.RecordCount)}}
}

func (w *world) replayActor(name string, source job.Job) actor {
	spy := &keySpy{}
	_, err := job.NewService(spy, w.service.Limits(), w.counter).Replay(w.Context(), w.owner, source.ID.String(), key(w, "k"), batch)
	require.ErrorIs(w, err, errSpied)
	n := spy.newJob
	return actor{name: name, steps: []step{exec(replaySQL, n.Owner[:], source.ID, n.ID, n.KeyHash[:], n.Payload.Digest[:], n.Payload.Bytes, job.MaxGeneration)}}
}

// The numbers are how many of the orders end with the commits of exactly those actors. They add up to all orders.
func TestEveryOrderOfStatementsKeepsTheBooksBalanced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		actors func(*world) []actor
		want   map[string]int
	}{
		"cancel, execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), w.executeActor(l)}
		}, map[string]int{"cancel": 7, "execute": 3}},
		"cancel under two keys, execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), w.cancelActor("other", j).committingAtOnce(), w.executeActor(l)}
		}, map[string]int{"cancel": 32, "other": 16, "execute": 12}},
		"gathered cancel, execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.gatheredCancelActor(j), w.executeActor(l)}
		}, map[string]int{"cancel": 7, "execute": 3}},
		"gathered cancel, cancel under another key, execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.gatheredCancelActor(j), w.cancelActor("other", j).committingAtOnce(), w.executeActor(l)}
		}, map[string]int{"cancel": 32, "other": 16, "execute": 12}},
		"gathered cancel, claim, claim": {func(w *world) []actor {
			j := w.submit()
			return []actor{w.gatheredCancelActor(j), claimActor("claim"), claimActor("again")}
		}, map[string]int{"cancel": 30, "cancel claim": 30, "cancel again": 30}},
		"cancel, gathered execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), gatheredExecuteActor(l)}
		}, map[string]int{"cancel": 3, "execute": 3}},
		"gathered cancel, cancel under another key, gathered execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.gatheredCancelActor(j), w.cancelActor("other", j).committingAtOnce(), gatheredExecuteActor(l)}
		}, map[string]int{"cancel": 12, "other": 6, "execute": 12}},
		"gathered execute, gathered execute": {func(w *world) []actor {
			_, l := w.running()
			again := gatheredExecuteActor(l)
			again.name = "again"
			return []actor{gatheredExecuteActor(l), again}
		}, map[string]int{"execute": 3, "again": 3}},
		"expire, claim, gathered execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{expireActor(j), claimActor("claim"), gatheredExecuteActor(l)}
		}, map[string]int{"expire": 4, "expire claim": 6, "execute": 20}},
		"cancel, gathered execute, replay": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), gatheredExecuteActor(l), w.replayActor("replay", j).committingAtOnce()}
		}, map[string]int{"cancel": 9, "cancel replay": 6, "execute": 15}},
		"retry, execute": {func(w *world) []actor {
			_, l := w.running()
			return []actor{w.retryActor(l), w.executeActor(l)}
		}, map[string]int{"retry": 7, "execute": 3}},
		"expire, claim, execute": {func(w *world) []actor {
			j, l := w.running()
			return []actor{expireActor(j), claimActor("claim"), w.executeActor(l)}
		}, map[string]int{"expire": 14, "expire claim": 16, "execute": 30}},
		"cancel, retry, claim": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), w.retryActor(l), claimActor("claim")}
		}, map[string]int{"cancel": 45, "cancel retry": 42, "cancel retry claim": 3}},
		"cancel, claim, claim": {func(w *world) []actor {
			j := w.submit()
			return []actor{w.cancelActor("cancel", j), claimActor("claim"), claimActor("again")}
		}, map[string]int{"cancel": 30, "cancel claim": 30, "cancel again": 30}},
		"submit, submit, submit of other bytes under one key": {func(w *world) []actor {
			return []actor{w.submitActor("submit", batch), w.submitActor("again", batch), w.submitActor("other", []byte(`[]`))}
		}, map[string]int{"submit": 30, "again": 30, "other": 30}},
		"replay, replay, delete of the source": {func(w *world) []actor {
			j := w.failed()
			return []actor{w.replayActor("replay", j), w.replayActor("again", j), deleteActor(j)}
		}, map[string]int{"replay": 30, "again": 30, "delete": 30}},
		"replay, purge, purge": {func(w *world) []actor {
			j := w.failed()
			again := purgeActor()
			again.name = "again"
			return []actor{w.replayActor("replay", j), purgeActor(), again}
		}, map[string]int{"replay": 30, "purge": 30, "again": 30}},
		"fail, replay, purge": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.failActor(l), w.replayActor("replay", j), purgeActor()}
		}, map[string]int{"fail": 66, "fail purge": 12, "fail replay": 12}},
		"fail, replay, delete of the source": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.failActor(l), w.replayActor("replay", j), deleteActor(j)}
		}, map[string]int{"delete": 45, "fail delete": 42, "fail replay": 3}},
		"cancel, execute, replay": {func(w *world) []actor {
			j, l := w.running()
			return []actor{w.cancelActor("cancel", j), w.executeActor(l), w.replayActor("replay", j).committingAtOnce()}
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
func TestGatheredExecutionAndOneAloneOfTheSameJobNeverBothSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ends := w.search(func() []actor {
		_, l := w.running()
		alone := w.executeActor(l)
		alone.name = "alone"
		return []actor{gatheredExecuteActor(l), alone}
	})
	require.Len(t, ends, 2)
	require.Equal(t, 10, ends["execute"]+ends["alone"])
}
