package postgres

import (
	"context"

	"github.com/google/uuid"

	"fencepost/internal/batch"
	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var jobsSQL = statements.Named("jobs")

// manyReads is how many reads, waiting for a statement, get a second one: enough for both to be worth a round trip.
const manyReads = 16

// jobKey is the primary key of a job.
type jobKey struct {
	owner job.Owner
	id    uuid.UUID
}

// Jobs implements job.Store. A single job is read together with those that others want at the same time.
func (s *Store) Jobs(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]job.Job, error) {
	found := make(map[uuid.UUID]job.Job, len(ids))
	if len(ids) == 1 {
		read, err := s.reads.Do(ctx, jobKey{owner, ids[0]})
		for _, j := range read {
			found[j.ID] = j
		}
		return found, err
	}
	keys := make([]jobKey, len(ids))
	for i, id := range ids {
		keys[i] = jobKey{owner, id}
	}
	var read []batch.Placed[job.Job]
	err := s.db.Query(ctx, "jobs", readJobs(keys, &read))
	for _, p := range read {
		found[p.Result.ID] = p.Result
	}
	return found, err
}

// shareRead reads the jobs that there are.
func (s *Store) shareRead(ctx context.Context, keys []jobKey) (read []batch.Placed[job.Job], err error) {
	err = s.db.Try(ctx, "jobs", func(ctx context.Context) error { return s.db.Send(ctx, readJobs(keys, &read)) })
	return read, err
}

func readJobs(keys []jobKey, into *[]batch.Placed[job.Job]) db.Query {
	owners, ids := make([][]byte, len(keys)), make([]uuid.UUID, len(keys))
	for i, k := range keys {
		owners[i], ids[i] = k.owner[:], k.id
	}
	return db.Rows(jobsSQL, statements.Args{"owners": owners, "ids": ids}, into, placedJobRows())
}
