package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var submitSQL, findByKeySQL = statements.Named("submit"), statements.Named("find by key")

// maxSharedPayload is the longest payload in bytes that shares its statement, so that a statement stays small.
const maxSharedPayload = 16 << 10

// newJob is a job to create, with the trace context of the request if that is traced.
type newJob struct {
	job.NewJob
	traceParent string
}

// submissionKey is what at most one job of an owner has.
type submissionKey struct {
	owner job.Owner
	hash  job.Hash
}

func keyOf(n job.NewJob) submissionKey { return submissionKey{n.Owner, n.KeyHash} }

// Submit implements job.Store. A submission shares its statement with those that come at the same time, unless it is long, or its key
// contended. One whose key is in use asks again alone, and so does one whose statement had to wait too long for somebody's key.
func (s *Store) Submit(ctx context.Context, n job.NewJob) (j job.Job, inserted, sameBytes bool, err error) {
	given := newJob{n, db.TraceParent(ctx)}
	if len(n.Payload.Bytes) > maxSharedPayload || s.contended.has(keyOf(n)) {
		return s.submitAlone(ctx, given)
	}
	created, err := s.submissions.Do(ctx, given)
	switch {
	case len(created) > 0:
		return created[0], true, true, nil
	case err == nil, isBusy(err):
		return s.submitAlone(ctx, given)
	default:
		return job.Job{}, false, false, err
	}
}

// shareSubmission creates the jobs whose keys are free.
func (s *Store) shareSubmission(ctx context.Context, jobs []newJob) ([]batch.Placed[job.Job], error) {
	return s.shareWrite(ctx, "submit", submitSQL, newJobColumns(jobs))
}

// shareWrite sends the statement of writes that come together, which soon gives up waiting. The jobs that it returns have changed.
func (s *Store) shareWrite(
	ctx context.Context, verb string, st statements.Statement, args statements.Args,
) (changed []batch.Placed[job.Job], err error) {
	err = s.db.Try(ctx, verb, func(ctx context.Context) error {
		return s.db.Send(ctx, lockTimeout(s.sharedTimeout()), db.Rows(st, args, &changed, placedJobRows()))
	})
	if err != nil {
		return nil, err
	}
	for _, p := range changed {
		s.notices.PublishJob(p.Result)
	}
	return changed, nil
}

// newJobColumns turns jobs into arrays, one for each column.
func newJobColumns(jobs []newJob) statements.Args {
	var (
		owners, keyHashes, digests, payloads [][]byte

		ids          []uuid.UUID
		counts       []int
		traceParents []string
	)
	for _, j := range jobs {
		owners, ids, keyHashes = append(owners, j.Owner[:]), append(ids, j.ID), append(keyHashes, j.KeyHash[:])
		digests, payloads = append(digests, j.Payload.Digest[:]), append(payloads, j.Payload.Bytes)
		counts, traceParents = append(counts, j.Payload.RecordCount), append(traceParents, j.traceParent)
	}
	return statements.Args{
		"owners": owners, "ids": ids, "key_hashes": keyHashes, "digests": digests, "payloads": payloads, "record_counts": counts,
		"trace_parents": traceParents,
	}
}

// submitAlone creates one job, or reads the one that has its key.
func (s *Store) submitAlone(ctx context.Context, n newJob) (j job.Job, inserted, sameBytes bool, err error) {
	err = s.alone(ctx, "submit", keyOf(n.NewJob), func(ctx context.Context, patience time.Duration) error {
		err := s.db.Send(ctx, lockTimeout(patience), db.Row(submitSQL, newJobColumns([]newJob{n}), func(row pgx.Row) (err error) {
			j, err = statements.ScanJob(row, new(int))
			return err
		}))
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return s.db.Send(ctx, db.Row(findByKeySQL, keyArgs(n.NewJob), func(row pgx.Row) (err error) {
			j, err = statements.ScanJob(row, &sameBytes)
			return err
		}))
	})
	// A row with the new id is this call's own, also when the answer to its first try was lost.
	inserted = err == nil && j.ID == n.ID
	if inserted {
		s.notices.PublishJob(j)
	}
	return j, inserted, sameBytes || inserted, err
}

// keyArgs ask for the job that has the key of a new one.
func keyArgs(n job.NewJob) statements.Args {
	return statements.Args{"owner": n.Owner[:], "key_hash": n.KeyHash[:], "digest": n.Payload.Digest[:]}
}
