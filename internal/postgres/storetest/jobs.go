package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// Batch is the payload of most tests: two records.
var Batch = []byte(`[{"id":"alpha","amount":1},{"id":"beta","amount":2}]`)

// MaxAttempts is the attempt limit of the tests' claims.
const MaxAttempts = 3

// MaxClaimedPayload is the longest payload in bytes that comes with its lease.
const MaxClaimedPayload = 16 << 10

// Key is an idempotency key with a text.
func Key(t testing.TB, text string) job.Key {
	t.Helper()
	k, err := job.ParseKey(text)
	require.NoError(t, err)
	return k
}

// Submit makes a PENDING job of the batch under a fresh key.
func (w *World) Submit() job.Job {
	w.Helper()
	accepted, err := w.Service.Submit(w.Context(), w.Owner, Key(w, uuid.NewString()), Batch)
	require.NoError(w, err)
	return accepted.Job
}

// SubmitLong makes a PENDING job whose payload is too long to share a statement, or to come with its lease.
func (w *World) SubmitLong() job.Job {
	w.Helper()
	accepted, err := w.Service.Submit(w.Context(), w.Owner, Key(w, uuid.NewString()), LongBatch())
	require.NoError(w, err)
	return accepted.Job
}

// LongBatch is a payload of one record whose text alone is longer than what comes with a lease.
func LongBatch() []byte {
	return fmt.Appendf(nil, `[{"id":"long","text":%q}]`, strings.Repeat("x", MaxClaimedPayload))
}

// Claim leases exactly one job.
func (w *World) Claim() worker.Lease {
	w.Helper()
	claimed := w.ClaimAll(1)
	require.Len(w, claimed.Leases, 1)
	return claimed.Leases[0]
}

// ClaimAll leases as many jobs as there are, up to a limit, for an hour.
func (w *World) ClaimAll(limit int) worker.Claimed {
	w.Helper()
	claimed, err := w.Store.Claim(w.Context(), worker.ClaimRequest{
		WorkerID: uuid.New(), Limit: limit, Duration: time.Hour, MaxAttempts: MaxAttempts,
	})
	require.NoError(w, err)
	return claimed
}

// LeasedIDs are the jobs that were leased.
func LeasedIDs(c worker.Claimed) (ids []uuid.UUID) {
	for _, l := range c.Leases {
		ids = append(ids, l.JobID)
	}
	return ids
}

// Cancel cancels a job under a key.
func (w *World) Cancel(j job.Job, keyText string) (job.Accepted, error) {
	return w.Service.Cancel(w.Context(), w.Owner, j.ID.String(), Key(w, keyText), "")
}

// CancelFor cancels a job under a key for a reason.
func (w *World) CancelFor(reason string, j job.Job, keyText string) (job.Accepted, error) {
	return w.Service.Cancel(w.Context(), w.Owner, j.ID.String(), Key(w, keyText), reason)
}

// Replay replays a job under a key, with the bytes of the batch.
func (w *World) Replay(source job.Job, keyText string) (job.Accepted, error) {
	return w.Service.Replay(w.Context(), w.Owner, source.ID.String(), Key(w, keyText), Batch)
}

// CancelledJob makes a CANCELLED job.
func (w *World) CancelledJob() job.Job {
	w.Helper()
	accepted, err := w.Cancel(w.Submit(), "cancel")
	require.NoError(w, err)
	return accepted.Job
}

// FailedJob makes a FAILED job.
func (w *World) FailedJob() job.Job {
	w.Helper()
	j := w.Submit()
	require.NoError(w, w.Store.Fail(w.Context(), w.Claim(), worker.Failure{Code: job.FailureTarget}))
	return w.Get(j.ID)
}

// SucceededJob makes a SUCCEEDED job.
func (w *World) SucceededJob() job.Job {
	w.Helper()
	j := w.Submit()
	require.NoError(w, w.Store.Execute(w.Context(), w.Claim()))
	return w.Get(j.ID)
}

// RunningJob makes a RUNNING job with its lease.
func (w *World) RunningJob() (job.Job, worker.Lease) {
	w.Helper()
	j := w.Submit()
	l := w.Claim()
	return w.Get(j.ID), l
}

// Family makes a root with two replays, of which the first has two replays of its own.
func (w *World) Family() []job.Job {
	w.Helper()
	replayAndCancel := func(source job.Job, name string) job.Job {
		accepted, err := w.Replay(source, name+uuid.NewString())
		require.NoError(w, err)
		cancelled, err := w.Cancel(accepted.Job, "c")
		require.NoError(w, err)
		return cancelled.Job
	}
	root := w.FailedJob()
	a, b := replayAndCancel(root, "a"), replayAndCancel(root, "b")
	return []job.Job{root, a, b, replayAndCancel(a, "aa"), replayAndCancel(a, "ab")}
}

// Twins gives every job of the owner a twin of another owner, with the same id, key, lease and all, but never due.
func (w *World) Twins(other job.Owner) {
	w.Helper()
	w.MustExec(`INSERT INTO etl_job_records SELECT (jsonb_populate_record(mine, jsonb_build_object(
			'principal_scope_hash', $1::bytea::text, 'next_attempt_at', clock_timestamp() + interval '1 hour'))).*
		FROM etl_job_records AS mine ORDER BY job_record_id`, other[:])
}

// Get reads a job.
func (w *World) Get(id uuid.UUID) job.Job {
	w.Helper()
	j, err := w.Service.Get(w.Context(), w.Owner, id.String())
	require.NoError(w, err)
	return j
}

// List reads the first page of a list.
func (w *World) List(f job.Filter) []uuid.UUID {
	w.Helper()
	page, err := w.Service.List(w.Context(), w.Owner, f, job.PageRequest{Limit: job.MaxPageSize})
	require.NoError(w, err)
	return IDs(page.Jobs)
}

// IDs are those of jobs, in their order.
func IDs(jobs []job.Job) (ids []uuid.UUID) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}
