package target

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
)

// River is the peer for workers. Each job does what one of Fencepost's does, and is completed in the same transaction: its
// records go into processed_data, and one row into the ledger.
//
// It is tuned: by default, River fetches every 100 ms at most, which bounds its rate.
type River struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool
}

const (
	riverWorkers     = 100
	riverConnections = 16
	riverCooldown    = 2 * time.Millisecond
	riverBatch       = 5000
)

// NewRiver makes River's tables in a database that has Fencepost's, and that nothing else uses.
func NewRiver(ctx context.Context, databaseURL string) (*River, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &River{pool: pool}
	if err := r.prepareDatabase(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return r, r.newClient()
}

func (r *River) prepareDatabase(ctx context.Context) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(r.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	// River's jobs are in a table of its own, so the ledger cannot point to Fencepost's. One check less to do.
	_, err = r.pool.Exec(ctx, "ALTER TABLE etl_idempotency_records DROP CONSTRAINT etl_idempotency_records_job_exists")
	return err
}

func (r *River) newClient() (err error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverLoader{pool: r.pool})
	r.client, err = river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		FetchCooldown: riverCooldown,
		Logger:        slog.New(slog.DiscardHandler),
		Workers:       workers,
	})
	return err
}

// Close releases the connections.
func (r *River) Close() error {
	r.pool.Close()
	return nil
}

// RiverName is what the report calls the peer.
const RiverName = "River"

// Name implements compare.Target.
func (r *River) Name() string { return RiverName }

// Prepare implements compare.Target: it leaves ops available jobs in the database, and nothing else.
func (r *River) Prepare(ctx context.Context, ops int64) error {
	if err := (ledger{r.pool}).clear(ctx, "river_job"); err != nil {
		return err
	}
	for left := ops; left > 0; left -= riverBatch {
		jobs := make([]river.InsertManyParams, min(left, riverBatch))
		for i := range jobs {
			jobs[i].Args = riverArgs{JobRecordID: uuid.Must(uuid.NewV7()), User: i % seed.Users, Records: json.RawMessage(seed.Payload)}
		}
		if _, err := r.client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	_, err := r.pool.Exec(ctx, "ANALYZE river_job")
	return err
}

// Run implements compare.Target.
func (r *River) Run(ctx context.Context, b load.Bound) (sample load.Sample, err error) {
	if err := r.client.Start(ctx); err != nil {
		return load.Sample{}, err
	}
	defer func() { err = errors.Join(err, r.client.Stop(ctx)) }()
	return ledger{r.pool}.await(ctx, b.Ops)
}

// riverArgs is a job's payload, as Fencepost's is.
type riverArgs struct {
	JobRecordID uuid.UUID       `json:"job_record_id"`
	User        int             `json:"user"`
	Records     json.RawMessage `json:"records"`
}

// Kind implements river.JobArgs.
func (riverArgs) Kind() string { return "load" }

type riverLoader struct {
	river.WorkerDefaults[riverArgs]
	pool *pgxpool.Pool
}

const (
	riverLoadSQL = `
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT $1, $2, ordinal, record ->> 'id', record
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS element (record, ordinal)`
	riverLedgerSQL = `
INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
VALUES ($1, $2, $3, $4)`
)

// Work implements river.Worker. Both statements go out in one round trip.
func (w *riverLoader) Work(ctx context.Context, job *river.Job[riverArgs]) error {
	owner := sha256.Sum256([]byte(seed.UserName(job.Args.User)))
	digest := sha256.Sum256(job.Args.Records)
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(riverLoadSQL, owner[:], job.Args.JobRecordID, job.Args.Records)
		batch.Queue(riverLedgerSQL, owner[:], job.Args.JobRecordID, digest[:], seed.RecordCount)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}
