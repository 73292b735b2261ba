package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// pile gives an owner pending jobs, the first of which has been due for as long as told. The others follow by milliseconds.
func (w *world) pile(owner job.Owner, jobs int, due time.Duration) {
	w.Helper()
	w.MustExec(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload,
			record_count, next_attempt_at)
		SELECT $1, gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), sha256('[]'), '[]', 0,
			clock_timestamp() - $3::interval + n * interval '1 millisecond'
		FROM generate_series(1, $2::bigint) AS n`, owner[:], jobs, due)
}

// orphans gives an owner running jobs whose leases have expired.
func (w *world) orphans(owner job.Owner, jobs int) {
	w.Helper()
	w.pile(owner, jobs, time.Hour)
	w.MustExec(`UPDATE etl_job_records SET job_status = 'RUNNING', attempt_count = 1, lease_claim_id = gen_random_uuid(),
		lease_owner_id = gen_random_uuid(), lease_expires_at = clock_timestamp() - interval '1 minute'`)
}

// someOwners are owners that have as many jobs each.
func (w *world) someOwners(count, jobs int) []job.Owner {
	w.Helper()
	owners := make([]job.Owner, count)
	for i := range owners {
		owners[i] = job.OwnerOf(fmt.Sprint("one of many ", i))
		w.pile(owners[i], jobs, time.Hour)
	}
	return owners
}

// taken counts the jobs that a claim took of each owner, and checks that it took none twice.
func taken(t testing.TB, leases []worker.Lease) map[job.Owner]int {
	t.Helper()
	jobs, claims := map[job.Owner]int{}, map[uuid.UUID]bool{}
	for _, l := range leases {
		jobs[l.Owner]++
		claims[l.ClaimID] = true
	}
	require.Len(t, claims, len(leases))
	return jobs
}

var claim = statements.Named("claim")

// trial claims, and takes the claim back.
func (w *world) trial(limit int) map[job.Owner]int {
	w.Helper()
	tx := w.Begin()
	rows, err := tx.Query(w.Context(), claim.SQL, claim.Positional(storetest.ClaimArgs(limit))...)
	require.NoError(w, err)
	leases, err := pgx.CollectRows(rows, postgres.ScanClaim)
	require.NoError(w, err)
	require.NoError(w, tx.Rollback(w.Context()))
	return taken(w, leases)
}

// requireTurns tries claims until each owner had one that took a job of it.
func (w *world) requireTurns(limit int, owners ...job.Owner) {
	w.Helper()
	served := map[job.Owner]int{}
	for range 2000 {
		for owner := range w.trial(limit) {
			served[owner]++
		}
		if len(served) == len(owners) {
			return
		}
	}
	require.Len(w, served, len(owners), "owners that had a turn")
}

func TestSingleJobIsInTheNextClaimBesideAnothersFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pile(job.OwnerOf("flood"), 500, time.Hour)
	single := w.Submit()
	claimed := w.ClaimAll(8)
	require.Contains(t, storetest.LeasedIDs(claimed), single.ID)
	require.Equal(t, map[job.Owner]int{w.Owner: 1, job.OwnerOf("flood"): 7}, taken(t, claimed.Leases))
}

func TestOwnersShareABatchEqually(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pile(job.OwnerOf("flood"), 500, 2*time.Hour)
	w.someOwners(4, 20)
	for owner, jobs := range taken(t, w.ClaimAll(20).Leases) {
		require.Equal(t, 4, jobs, owner)
	}
	jobs := taken(t, w.ClaimAll(23).Leases)
	require.Len(t, jobs, 5)
	for owner := range jobs {
		require.Contains(t, []int{4, 5}, jobs[owner])
	}
}

func TestAnOwnersOldestJobsComeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pile(job.OwnerOf("flood"), 50, time.Hour)
	second, first, third := w.Submit(), w.Submit(), w.Submit()
	w.MustExec("UPDATE etl_job_records SET next_attempt_at = clock_timestamp() - interval '1 minute' WHERE job_record_id = $1", first.ID)
	for _, want := range []job.Job{first, second, third} {
		require.Contains(t, storetest.LeasedIDs(w.ClaimAll(2)), want.ID)
	}
}

func TestMoreOwnersThanTheBatchAreAllServedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.someOwners(50, 1)
	served := map[job.Owner]int{}
	for range 5 {
		for owner := range taken(t, w.ClaimAll(10).Leases) {
			served[owner]++
		}
	}
	require.Len(t, served, 50)
}

func TestEveryOwnerHasTurnsInSmallBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.requireTurns(1, w.someOwners(5, 2)...)
}

func TestEveryOwnerHasTurnsWhereOneTurnDoesNotSeeThemAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.requireTurns(8, w.someOwners(40, 10)...)
}

func TestBatchIsFilledWithWhatOwnersLeaveOfTheirShares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flood, few, waiting := job.OwnerOf("flood"), job.OwnerOf("few"), job.OwnerOf("waiting")
	w.pile(flood, 100, 2*time.Hour)
	w.pile(few, 2, time.Hour)
	w.pile(waiting, 100, -time.Hour)
	require.Equal(t, map[job.Owner]int{flood: 28, few: 2}, taken(t, w.ClaimAll(30).Leases))
	require.Equal(t, map[job.Owner]int{flood: 72}, taken(t, w.ClaimAll(100).Leases))
	require.Empty(t, w.ClaimAll(10))
}

func TestExpiredLeasesAndPendingJobsGetHalfOfABatchEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead, alive := job.OwnerOf("dead"), job.OwnerOf("alive")
	w.orphans(dead, 30)
	w.pile(alive, 10, time.Minute)
	require.Equal(t, map[job.Owner]int{dead: 8, alive: 8}, taken(t, w.ClaimAll(16).Leases))
	w.requireTurns(1, dead, alive)
	require.Equal(t, map[job.Owner]int{dead: 14, alive: 2}, taken(t, w.ClaimAll(16).Leases))
	w.pile(alive, 40, time.Minute)
	require.Equal(t, map[job.Owner]int{dead: 8, alive: 12}, taken(t, w.ClaimAll(20).Leases))
}

func TestExpiredLeasesThatAnotherTransactionHoldsTakeNoPlaceInABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead, alive := job.OwnerOf("dead"), job.OwnerOf("alive")
	w.orphans(dead, 10)
	w.pile(alive, 30, time.Minute)
	holder := w.Begin()
	_, err := holder.Exec(t.Context(), "SELECT FROM etl_job_records WHERE job_status = 'RUNNING' FOR UPDATE")
	require.NoError(t, err)
	require.Equal(t, map[job.Owner]int{alive: 16}, taken(t, w.ClaimAll(16).Leases))
	for range 14 {
		require.Equal(t, map[job.Owner]int{alive: 1}, taken(t, w.ClaimAll(1).Leases))
	}
	require.NoError(t, holder.Rollback(t.Context()))
	require.Equal(t, map[job.Owner]int{dead: 10}, taken(t, w.ClaimAll(16).Leases))
}
