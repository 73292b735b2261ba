package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
	"fencepost/internal/job"
)

// Shapes reads a page of 100 jobs of lineages that are ever longer, and ever broader.
type Shapes struct{}

// Title implements Operation.
func (Shapes) Title() string { return "shapes of lineages" }

// shape is a series of lineages. Each is a chain, or a root with everything else derived from it.
type shape struct {
	x     string
	sizes []int64
	chain bool
}

// Measure implements Operation.
func (o Shapes) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	db, err := e.Seed(ctx, "shapes", 0, 0)
	if err != nil {
		return result, err
	}
	for _, s := range []shape{
		{"generations", []int64{1, 3, 10, 30, 100}, true},
		{"breadth", []int64{1, 10, 100, 1000, 2000}, false},
	} {
		curves, err := s.measure(ctx, e, db)
		if err != nil {
			return result, err
		}
		result.Curves = append(result.Curves, curves...)
	}
	return result, nil
}

func (s shape) measure(ctx context.Context, e *Env, db *Database) ([]compare.Curve, error) {
	rate := compare.Curve{Name: "Rate of a lineage by " + s.x, X: s.x, Y: "a second"}
	pages := compare.Curve{Name: "Buffers of a lineage by " + s.x, X: s.x, Y: "pages"}
	for _, size := range s.sizes {
		root := db.Fuel.Reserve(size + 1)
		if err := plant(ctx, db, root, size, s.chain); err != nil {
			return nil, err
		}
		sample, err := once(ctx, e, rest(db, func(int64) target.Request { return lineageRequest(0, root+size) }))
		if err != nil {
			return nil, err
		}
		leaf := explained{
			pick:       func(context.Context, *Database) (int, int64, error) { return 0, root + size, nil },
			statements: []statement{summaryStatement, pageStatement},
		}
		touched, err := leaf.average(ctx, e, db)
		if err != nil {
			return nil, err
		}
		rate.Add(float64(size), sample.Rate())
		pages.Add(float64(size), touched)
	}
	return []compare.Curve{rate, pages}, nil
}

// lineageRequest asks for the first page of a lineage, whatever its size.
func lineageRequest(user int, row int64) target.Request {
	return target.Request{
		User: user, Method: "GET", Path: "/api/etl/jobs/" + seed.ID(row).String() + "/lineage?limit=100", Want: `"jobCount":`,
	}
}

// plantSQL makes a root, row $1, and $2 replays of the owner $3: each of the one before, or all of the root.
var plantSQL = `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	job_status, attempt_count, failure_code, replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
SELECT $3::bytea, ` + seed.IDSQL("($1::bigint + n)") + `, sha256(int8send($1 + n)), sha256('[]'), 0,
	'FAILED', 1, 'etl_target_failure',
	CASE WHEN n > 0 THEN ` + seed.IDSQL("CASE WHEN $4::boolean THEN $1 + n - 1 ELSE $1 END") + ` END,
	CASE WHEN n > 0 THEN ` + seed.IDSQL("$1") + ` END,
	CASE WHEN n > 0 THEN CASE WHEN $4 THEN n ELSE 1 END END
FROM generate_series(0, $2::bigint) AS n`

// plant makes a lineage of user 0.
func plant(ctx context.Context, db *Database, root, size int64, chain bool) error {
	conn, err := pgx.Connect(ctx, db.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return err
	}
	owner := job.OwnerOf(seed.UserName(0))
	if _, err := conn.Exec(ctx, plantSQL, root, size, owner[:], chain); err != nil {
		return fmt.Errorf("plant a lineage: %w", err)
	}
	_, err = conn.Exec(ctx, "ANALYZE etl_job_records")
	return err
}

// once measures a read in one block, for a curve; those are not compared with anything.
func once(ctx context.Context, e *Env, t *target.HTTP) (load.Sample, error) {
	if err := t.Prepare(ctx, 0); err != nil {
		return load.Sample{}, err
	}
	if _, err := t.Run(ctx, e.Reads.Warm); err != nil {
		return load.Sample{}, err
	}
	sample, err := t.Run(ctx, e.Reads.Measured)
	if err == nil && sample.Errors+sample.Misses > 0 {
		err = errors.New(sample.FirstError)
	}
	return sample, err
}
