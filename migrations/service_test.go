package migrations_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/schema"
	"fencepost/internal/worker"
	"fencepost/migrations"
)

// The service at work on a schema that was moved, or moves, under it.

// batch is the payload and owner the principal's hash of the jobs in fixtures.
var (
	batch = []byte(`[{"id":"a"}]`)
	owner = job.Owner(sha256.Sum256([]byte("owner")))
)

func (d *database) service() (*job.Service, *postgres.Store) {
	d.Helper()
	store := postgres.NewStore(d.pool, postgres.Config{LockTimeout: 20 * time.Second, CallTimeout: 30 * time.Second})
	d.Cleanup(store.Close)
	return job.NewService(store, job.Limits{MaxPayloadBytes: 1 << 10, MaxBatchRecords: 10}, job.Unobserved{}), store
}

func key(text string) job.Key {
	k, _ := job.ParseKey(text) // a constant or a UUID
	return k
}

// executeDue executes every job that is due and returns how many it leased. One that was cancelled meanwhile is stale.
func executeDue(ctx context.Context, store *postgres.Store) (int, error) {
	claimed, err := store.Claim(ctx, worker.ClaimRequest{WorkerID: uuid.New(), Limit: 100, Duration: time.Hour, MaxAttempts: 10})
	for _, lease := range claimed.Leases {
		if executed := store.Execute(ctx, lease); !errors.Is(executed, worker.ErrStale) {
			err = errors.Join(err, executed)
		}
	}
	return len(claimed.Leases), err
}

func executeAll(t testing.TB, store *postgres.Store) int {
	t.Helper()
	n, err := executeDue(t.Context(), store)
	require.NoError(t, err)
	return n
}

func TestJobsOfEveryOlderVersionAreServedAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	for from, due := range map[int64]int{1: 3, 2: 3, 3: 3, 4: 6, 5: 6, 6: 6, 7: 6, 8: 6} {
		t.Run(fmt.Sprint("from version ", from), func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.up(from)
			d.fill(1, from)
			require.NoError(t, schema.Up(t.Context(), d.url))

			service, store := d.service()
			require.Equal(t, due, executeAll(t, store))
			cancelled, err := service.Cancel(t.Context(), owner, "01900000-0000-7000-8000-000000000003", key("k"), "")
			require.NoError(t, err)
			require.Equal(t, job.StatusCancelled, cancelled.Job.Status)
			replayed, err := service.Replay(t.Context(), owner, "01900000-0000-7000-8000-000000000006", key("k"), batch)
			require.NoError(t, err)
			require.Equal(t, 1, replayed.Job.Generation())
			require.Equal(t, 1, executeAll(t, store))
		})
	}
}

// The versions that only add an index are taken back and again while jobs come and go.
func TestVersionsThatOnlyAddAnIndexAreTakenUnderLoad(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.up(latest)
	service, store := d.service()
	stopping, stop := context.WithCancel(t.Context())
	flowing := make(chan struct{})
	var traffic errgroup.Group
	for range 3 {
		traffic.Go(func() error {
			for first := true; stopping.Err() == nil; first = false {
				if err := oneLife(t.Context(), service, store); err != nil {
					return err
				}
				if first {
					flowing <- struct{}{}
				}
			}
			return nil
		})
	}
	for range 3 {
		<-flowing
	}
	files := d.provider(migrations.FS)
	for range 2 {
		for version := range concurrentIndexes {
			for _, up := range []bool{false, true} {
				_, err := files.ApplyVersion(t.Context(), version, up)
				require.NoError(t, err)
			}
		}
	}
	stop()
	require.NoError(t, traffic.Wait())

	executeAll(t, store)
	require.Zero(t, query[int64](d, "SELECT count(*) FROM etl_job_records WHERE job_status IN ('PENDING', 'RUNNING')"))
	succeeded := query[int64](d, "SELECT count(*) FROM etl_job_records WHERE job_status = 'SUCCEEDED'")
	require.Positive(t, succeeded)
	require.Equal(t, succeeded, query[int64](d, "SELECT count(*) FROM etl_idempotency_records"))
	require.Equal(t, succeeded, query[int64](d, "SELECT count(*) FROM processed_data"))
}

// oneLife submits a job, cancels it, replays it and executes what is due. It returns the first error that is no answer.
func oneLife(ctx context.Context, service *job.Service, store *postgres.Store) error {
	submitted, err := service.Submit(ctx, owner, key(uuid.NewString()), batch)
	if err != nil {
		return err
	}
	id := submitted.Job.ID.String()
	var refused *job.Problem // another worker was faster than the cancellation
	_, err = service.Cancel(ctx, owner, id, key("k"), "")
	if err == nil {
		_, err = service.Replay(ctx, owner, id, key(id), batch)
	}
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	_, err = executeDue(ctx, store)
	return err
}

// A process of the version before, whose statements do not name the trace context, goes on during a rollout.
func TestTraceContextNeedsNothingFromTheProcessesOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.up(latest)
	d.fill(1, latest)
	require.Positive(t, query[int64](d, "SELECT count(*) FROM etl_job_records WHERE trace_parent IS NOT NULL"))
	_, err := d.pool.Exec(t.Context(), "UPDATE etl_job_records SET trace_parent = 'canary' WHERE job_status = 'PENDING'")
	require.ErrorContains(t, err, "etl_job_records_trace_format")
	d.exec(`UPDATE etl_job_records SET job_status = 'FAILED', failure_code = 'etl_internal_error', request_payload = NULL,
		lease_claim_id = NULL, lease_owner_id = NULL, lease_expires_at = NULL WHERE job_status IN ('PENDING', 'RUNNING')`)
	require.Zero(t, query[int64](d, "SELECT count(*) FROM etl_job_records WHERE trace_parent IS NOT NULL"))
}
