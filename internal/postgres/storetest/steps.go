package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

// Begin opens a transaction on a connection of its own: one side of a race, taken step by step.
func (w *World) Begin() pgx.Tx {
	w.Helper()
	return w.BeginOn(w.Pool)
}

// BeginAsAdmin opens one that may do everything.
func (w *World) BeginAsAdmin() pgx.Tx {
	w.Helper()
	return w.BeginOn(w.Admin)
}

// BeginOn opens one on a pool.
func (w *World) BeginOn(pool *pgxpool.Pool) pgx.Tx {
	w.Helper()
	tx, err := pool.Begin(w.Context())
	require.NoError(w, err)
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// Send sends one of the product's statements, which has to succeed, in a transaction that is left undecided.
func (w *World) Send(tx pgx.Tx, name string, args statements.Args) {
	w.Helper()
	_, err := Send(w.Context(), tx, name, args)
	require.NoError(w, err)
}

// A Result is what a call returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Async runs one side of a race in the background.
func Async[T any](call func() (T, error)) <-chan Result[T] {
	done := make(chan Result[T], 1)
	go func() {
		value, err := call()
		done <- Result[T]{value, err}
	}()
	return done
}

// Execute executes a job in the background.
func (w *World) Execute(l worker.Lease) <-chan Result[struct{}] {
	return Async(func() (struct{}, error) { return struct{}{}, w.Store.Execute(w.Context(), l) })
}

// WaitForLock waits until one connection to this database is blocked by a lock.
func (w *World) WaitForLock() {
	w.Helper()
	w.WaitForLocks(1)
}

// WaitForLocks waits until exactly so many connections to this database are blocked by locks.
func (w *World) WaitForLocks(connections int) {
	w.Helper()
	pgtest.Eventually(w, fmt.Sprint(connections, " blocked connections"), func() bool {
		return w.Count("pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == connections
	})
}

// Gate is an advisory lock that statements wait at until the test opens it.
const Gate = 4711

// GatedLoad is the built-in load, held at the gate after its effects were written.
func GatedLoad(t testing.TB) Option {
	t.Helper()
	return WithLoad(t, fmt.Sprintf(
		`WITH loaded AS (%s RETURNING 1) SELECT pg_advisory_xact_lock_shared(%d) FROM (SELECT count(*) FROM loaded) AS written`,
		BuiltinLoad(), Gate))
}

// CloseGate holds the gate until the returned function opens it.
func (w *World) CloseGate() (open func()) {
	w.Helper()
	tx := w.Begin()
	_, err := tx.Exec(w.Context(), "SELECT pg_advisory_xact_lock($1)", Gate)
	require.NoError(w, err)
	return func() { require.NoError(w, tx.Commit(w.Context())) }
}

// CancelInTransaction cancels a job in a transaction that is left undecided.
func (w *World) CancelInTransaction(j job.Job, keyHash job.Hash) pgx.Tx {
	w.Helper()
	tx := w.Begin()
	w.Send(tx, "cancel waiting", CancelArgs(w.Owner, j.ID, keyHash))
	return tx
}

// ReplayInTransaction makes a replay of the batch under the key "k" in a transaction that is left undecided.
func (w *World) ReplayInTransaction(source job.Job) (uuid.UUID, pgx.Tx) {
	w.Helper()
	n := w.NewReplay(source, "k")
	tx := w.Begin()
	w.Send(tx, "replay", ReplayArgs(source.ID, n))
	return n.ID, tx
}

// errSpied is the answer of a spy.
var errSpied = errors.New("spied")

// spy is no database: it only learns which row or key hash the core would send, so that a test can send it by hand, one
// statement at a time.
type spy struct {
	job.Store
	hash   job.Hash
	newJob job.NewJob
}

// spied learns what the core would send.
func (w *World) spied(call func(*job.Service) error) *spy {
	w.Helper()
	s := &spy{}
	require.ErrorIs(w, call(job.NewService(s, w.Service.Limits(), w.Counter)), errSpied)
	return s
}

// NewJob is the row that the core would send for a submission.
func (w *World) NewJob(keyText string, payload []byte) job.NewJob {
	w.Helper()
	return w.spied(func(s *job.Service) error {
		_, err := s.Submit(w.Context(), w.Owner, Key(w, keyText), payload)
		return err
	}).newJob
}

// NewReplay is the row that the core would send for a replay of the batch.
func (w *World) NewReplay(source job.Job, keyText string) job.NewJob {
	w.Helper()
	return w.spied(func(s *job.Service) error {
		_, err := s.Replay(w.Context(), w.Owner, source.ID.String(), Key(w, keyText), Batch)
		return err
	}).newJob
}

// CancelHash is the hash that the core makes of a cancellation key.
func (w *World) CancelHash(j job.Job, keyText string) job.Hash {
	w.Helper()
	return w.spied(func(s *job.Service) error {
		_, err := s.Cancel(w.Context(), w.Owner, j.ID.String(), Key(w, keyText), "")
		return err
	}).hash
}

func (s *spy) Cancel(_ context.Context, _ job.Owner, _ uuid.UUID, hash job.Hash, _ string) (job.CancelResult, error) {
	s.hash = hash
	return job.CancelResult{}, errSpied
}

func (s *spy) Submit(_ context.Context, n job.NewJob) (job.Job, bool, bool, error) {
	s.newJob = n
	return job.Job{}, false, false, errSpied
}

func (s *spy) Replay(_ context.Context, _ uuid.UUID, n job.NewJob) (job.ReplayResult, error) {
	s.newJob = n
	return job.ReplayResult{}, errSpied
}
