package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

// The plans are looked at with few rows and with ten times as many: what a statement touches must not grow with the table.
const (
	fewRows  = 10_000
	manyRows = 100_000
)

// mayTouch is how many buffers a statement may touch at manyRows, given how many it touched at fewRows: there is a level more
// of some indexes, and the rows lie on other pages. A statement about all of an owner's jobs may find each on a page of its
// own.
func (st planned) mayTouch(few int) int {
	if st.ofOwner {
		return few*3/2 + jobsOfSmall
	}
	return few*3/2 + 50
}

// jobsOfSmall is the number of jobs of the owner whose share does not grow.
const jobsOfSmall = 1000

// seedSQL makes rows $1 to $2. The first 1,000 are of owner $3; every second one of the others is of owner $4, whose share
// grows with the table; the rest are of some hundred owners. Each of the two has a lineage that is a chain of 100 jobs, from
// row 0 and row 1000 on. Every 50th row is pending, another one running, and another one has outlived its lease.
const seedSQL = `
WITH numbered AS (
	SELECT n, CASE WHEN n < 1000 THEN $3::bytea WHEN n % 2 = 0 THEN $4::bytea ELSE sha256(int8send(n % 97)) END AS owner,
		CASE WHEN n < 100 THEN n WHEN n BETWEEN 1000 AND 1199 AND n % 2 = 0 THEN (n - 1000) / 2 END AS generation,
		CASE WHEN n < 1000 THEN 1 ELSE 2 END AS step
	FROM generate_series($1::bigint, $2::bigint) AS n
), placed AS (
	SELECT *, CASE
		WHEN generation IS NOT NULL THEN 'FAILED'
		WHEN n % 50 IN (10, 11) THEN 'PENDING'
		WHEN n % 50 IN (20, 21, 30, 31) THEN 'RUNNING'
		WHEN n % 50 IN (40, 41) THEN 'CANCELLED'
		ELSE 'SUCCEEDED' END AS status
	FROM numbered
)
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload,
	record_count, job_status, attempt_count, next_attempt_at, failure_code, lease_claim_id, lease_owner_id, lease_expires_at,
	cancellation_key_hash, cancellation_code, job_cancelled_at,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
SELECT owner, pg_temp.id(n), sha256(int8send(n)), sha256('[]'), CASE WHEN status IN ('PENDING', 'RUNNING') THEN '[]'::bytea END,
	0, status, 1, clock_timestamp() - interval '1 hour', CASE status WHEN 'FAILED' THEN 'etl_target_failure' END,
	CASE status WHEN 'RUNNING' THEN $5::uuid END, CASE status WHEN 'RUNNING' THEN $5::uuid END,
	CASE status WHEN 'RUNNING' THEN clock_timestamp() + CASE WHEN n % 50 < 30 THEN interval '1 hour' ELSE interval '-1 hour' END END,
	CASE status WHEN 'CANCELLED' THEN sha256('key') END, CASE status WHEN 'CANCELLED' THEN 'etl_job_cancelled_by_owner' END,
	CASE status WHEN 'CANCELLED' THEN clock_timestamp() END,
	CASE WHEN generation > 0 THEN pg_temp.id(n - step) END, CASE WHEN generation > 0 THEN pg_temp.id(n - generation * step) END,
	nullif(generation, 0)
FROM placed`

// idSQL makes the id of a row, in the order of the rows.
const idSQL = `CREATE FUNCTION pg_temp.id(n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql
	AS $$ SELECT ('019b76da' || lpad(to_hex(n), 8, '0') || '80000000' || '00000000')::uuid $$`

func rowID(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("019b76da%08x8000000000000000", n)) }

// leaseID is the claim id of every running row.
var leaseID = uuid.MustParse("00000000-0000-4000-8000-000000000001")

// planner looks at plans on one connection.
type planner struct {
	*world
	conn *pgx.Conn
}

func newPlanner(w *world) *planner {
	conn, err := pgx.Connect(w.Context(), pgtest.Superuser(w, w.URL))
	require.NoError(w, err)
	p := &planner{w, conn}
	w.Cleanup(func() { require.NoError(w, conn.Close(context.WithoutCancel(w.Context()))) })
	require.NoError(w, db.Begin(w.Context(), conn))
	p.run(idSQL)
	return p
}

func (p *planner) run(sql string, args ...any) {
	p.Helper()
	_, err := p.conn.Exec(p.Context(), sql, args...)
	require.NoError(p, err)
}

// seed makes rows without asking the triggers row by row.
func (p *planner) seed(from, to int) {
	p.Helper()
	small, large := job.OwnerOf("small"), job.OwnerOf("large")
	p.run("SET session_replication_role = replica")
	p.run(seedSQL, from, to-1, small[:], large[:], leaseID)
	p.run("RESET session_replication_role")
	p.run(`INSERT INTO etl_idempotency_records (principal_scope_hash, job_record_id, request_digest, record_count)
		SELECT principal_scope_hash, job_record_id, request_digest, record_count FROM etl_job_records WHERE job_status = 'SUCCEEDED'
		ON CONFLICT DO NOTHING`)
	p.run(`INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number, attempt_outcome, started_at)
		SELECT principal_scope_hash, job_record_id, 1, 'retried', created_at FROM etl_job_records WHERE job_status IN ('SUCCEEDED', 'FAILED')
		ON CONFLICT DO NOTHING`)
	p.run("VACUUM ANALYZE etl_job_records, etl_idempotency_records, etl_job_attempts")
}

// pending makes pending jobs of the owner.
func (p *planner) pending(from, to int) {
	p.Helper()
	p.run(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
		SELECT $1, pg_temp.id(n), sha256(int8send(n)), sha256('[]'), '[]', 0 FROM generate_series($2::bigint, $3::bigint) AS n`,
		p.Owner[:], from, to-1)
}

// node is a part of a plan, as EXPLAIN tells it.
type node struct {
	Type        string  `json:"Node Type"`
	Relation    string  `json:"Relation Name"`
	Index       string  `json:"Index Name"`
	Rows        float64 `json:"Actual Rows"` // in one loop
	Removed     float64 `json:"Rows Removed by Filter"`
	SharedHit   int     `json:"Shared Hit Blocks"`
	SharedRead  int     `json:"Shared Read Blocks"`
	TempWritten int     `json:"Temp Written Blocks"`
	Plans       []node  `json:"Plans"`
}

func (n node) buffers() int { return n.SharedHit + n.SharedRead + n.TempWritten }

// passedOver is the number of rows that a part of the plan read and had no use for, at most.
func (n node) passedOver() float64 {
	most := n.Removed
	for _, child := range n.Plans {
		most = max(most, child.passedOver())
	}
	return most
}

// indexes are those that a plan uses, each once.
func (n node) indexes() []string {
	var all []string
	if n.Index != "" {
		all = append(all, n.Index)
	}
	for _, child := range n.Plans {
		all = append(all, child.indexes()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// check refuses a scan of a whole table, and a sort of more rows than the statement may return.
func (n node) check(limit int) error {
	if n.Type == "Seq Scan" {
		return fmt.Errorf("sequential scan of %s", n.Relation)
	}
	if strings.Contains(n.Type, "Sort") && n.Plans[0].Rows > float64(limit) {
		return fmt.Errorf("%s of %.0f rows, of which at most %d are wanted", n.Type, n.Plans[0].Rows, limit)
	}
	for _, child := range n.Plans {
		if err := child.check(limit); err != nil {
			return err
		}
	}
	return nil
}

// explain runs a statement as the store does, in a transaction that is rolled back, and returns what it did.
func (p *planner) explain(mode string, st planned) node {
	p.Helper()
	p.run("BEGIN")
	defer p.run("ROLLBACK")
	p.run("SET LOCAL plan_cache_mode = " + mode)
	_, err := p.conn.Prepare(p.Context(), st.Name, st.SQL)
	require.NoError(p, err, st.Name)
	defer func() { require.NoError(p, p.conn.Deallocate(p.Context(), st.Name)) }()
	return p.explainPrepared(st)
}

// explainPrepared runs a statement that is prepared under its name, and returns what it did.
func (p *planner) explainPrepared(st planned) node {
	p.Helper()
	var text []byte
	explained := "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + st.execute()
	require.NoError(p, p.conn.QueryRow(p.Context(), explained).Scan(&text), st.Name)
	var plans []struct{ Plan node }
	require.NoError(p, json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// planned is a statement with arguments that occur in use, and the most rows that it has to sort.
type planned struct {
	statements.Statement
	args  statements.Args
	limit int
	// ofOwner tells that the statement may look at all jobs of its owner, so that it is only tried with the small one.
	ofOwner bool
}

func named(name string, args statements.Args) planned {
	return planned{Statement: statements.Named(name), args: args}
}

// sorting is the same for a statement that has to sort some rows.
func (st planned) sorting(limit int) planned {
	st.limit = limit
	return st
}

// execute runs the statement that is prepared under its name.
func (st planned) execute() string {
	arguments := st.Positional(st.args)
	literals := make([]string, len(arguments))
	for i, arg := range arguments {
		literals[i] = literal(arg)
	}
	if len(literals) == 0 {
		return fmt.Sprintf(`EXECUTE "%s"`, st.Name)
	}
	return fmt.Sprintf(`EXECUTE "%s"(%s)`, st.Name, strings.Join(literals, ", "))
}

// literal writes an argument in SQL, because EXECUTE takes no parameters.
func literal(arg any) string {
	switch arg := arg.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf(`'\x%x'`, arg)
	case [][]byte:
		return arrayOf(arg, func(b []byte) string { return fmt.Sprintf(`"\\x%x"`, b) })
	case []uuid.UUID:
		return arrayOf(arg, uuid.UUID.String)
	case []string:
		return arrayOf(arg, strconv.Quote)
	case time.Duration:
		return fmt.Sprintf("'%d microseconds'", arg.Microseconds())
	default:
		return fmt.Sprintf("'%v'", arg)
	}
}

func arrayOf[T any](elements []T, element func(T) string) string {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = element(e)
	}
	return "'{" + strings.Join(texts, ",") + "}'"
}

// reads are what an owner's queries run. The owner has a lineage from row first on, whose rows are step apart.
func reads(owner job.Owner, first, step int) []planned {
	o, page := owner[:], job.MaxPageSize+1
	root, leaf, some := rowID(first), rowID(first+99*step), rowID(first+300*step)
	with := func(args, more statements.Args) statements.Args {
		all := maps.Clone(args)
		maps.Copy(all, more)
		return all
	}
	every := "{PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED}"
	all := statements.Args{"owner": o, "created_after": nil, "created_before": nil, "unresolved": nil}
	list := with(all, statements.Args{"before": uuid.Max, "limit": page})
	parts := func(statuses, replay string, more statements.Args) planned {
		return named("list parts", with(with(list, more), statements.Args{"statuses": statuses, "replay": replay}))
	}
	unresolved := statements.Args{"unresolved": true}
	count := func(statuses string) planned {
		st := named("count by status", with(all, statements.Args{"statuses": statuses, "replay": nil, "limit": job.MaxCount + 1}))
		st.ofOwner = true
		return st.sorting(jobsOfSmall)
	}
	return []planned{
		named("jobs", statements.Args{"owners": [][]byte{o}, "ids": []uuid.UUID{some}}),
		named("jobs", statements.Args{"owners": [][]byte{o, o}, "ids": []uuid.UUID{some, leaf}}),
		named("list", statements.Args{"owner": o, "before": uuid.Max, "limit": page}),
		named("list", statements.Args{"owner": o, "before": some, "limit": page}),
		named("list filtered", list),
		parts("{SUCCEEDED}", "{f,t}", nil).sorting(page),
		parts("{RUNNING}", "{f}", nil).sorting(page),
		parts("{PENDING,RUNNING,FAILED,CANCELLED}", "{f,t}", nil).sorting(8 * page),
		parts(every, "{t}", nil).sorting(page),
		parts("{FAILED,CANCELLED}", "{f,t}", unresolved).sorting(4 * page),
		parts("{FAILED}", "{t}", unresolved).sorting(page),
		count("{RUNNING}"),
		count(every),
		named("lineages", statements.Args{"owner": o, "ids": []uuid.UUID{leaf, some}, "limit": job.MaxLineageJobs + 1}).sorting(100),
		named("lineage sizes", statements.Args{"owner": o, "roots": []uuid.UUID{root}}).sorting(100),
		named("ancestries", statements.Args{"owner": o, "ids": []uuid.UUID{leaf}}).sorting(100),
		named("lineage summary", statements.Args{"owner": o, "id": leaf}).sorting(100),
		lineagePage(o, leaf, 0, uuid.Nil),
		lineagePage(o, leaf, 50, rowID(first+50*step)),
		named("attempts", statements.Args{"owner": o, "ids": []uuid.UUID{root, leaf, some}, "limit": 21, "after_number": 0, "after_outcome": ""}).sorting(3),
		named("replays", statements.Args{
			"owner": o, "sources": []uuid.UUID{root, leaf, some}, "after": uuid.Nil, "limit": page,
		}).sorting(3),
	}
}

func lineagePage(owner []byte, id uuid.UUID, generation int, after uuid.UUID) planned {
	page := job.MaxPageSize + 1
	return named("lineage page", statements.Args{
		"owner": owner, "id": id, "after_generation": generation, "after_id": after, "limit": page,
	}).sorting(page)
}

// writes are what an owner's mutations run.
func writes(owner job.Owner, first, step int) []planned {
	o, fresh, hash, digest := owner[:], uuid.Must(uuid.NewV7()), bytes.Repeat([]byte{1}, 32), sha256.Sum256([]byte("[]"))
	failed, pending, cancelled := rowID(first+98*step), rowID(first+210*step), rowID(first+240*step)
	all := []planned{
		named("submit", statements.Args{
			"owners": [][]byte{o, o}, "ids": []uuid.UUID{fresh, uuid.Must(uuid.NewV7())}, "key_hashes": [][]byte{hash, digest[:]},
			"digests": [][]byte{digest[:], digest[:]}, "payloads": [][]byte{[]byte("[]"), []byte("[]")}, "record_counts": "{0,0}",
			"trace_parents": `{"",""}`,
		}).sorting(2),
		named("find by key", statements.Args{"owner": o, "key_hash": hash, "digest": digest[:]}),
		named("replay", statements.Args{
			"owner": o, "source_id": failed, "id": fresh, "key_hash": hash, "digest": digest[:], "payload": []byte("[]"),
			"max_generation": job.MaxGeneration, "trace_parent": "",
		}),
		named("find source", statements.Args{"owner": o, "id": failed, "digest": digest[:]}),
		named("find cancelled", statements.Args{"owner": o, "id": cancelled, "key_hash": hash, "reason": job.CancellationByOwner}),
	}
	return append(all, cancellations(owner, pending, cancelled)...)
}

// cancellations are those of one job, and of several.
func cancellations(owner job.Owner, ids ...uuid.UUID) (all []planned) {
	for _, name := range []string{"cancel", "cancel waiting"} {
		for n := 1; n <= len(ids); n++ {
			all = append(all, named(name, statements.Args{
				"owners": slices.Repeat([][]byte{owner[:]}, n), "ids": ids[:n],
				"key_hashes": slices.Repeat([][]byte{bytes.Repeat([]byte{1}, 32)}, n),
				"reasons":    slices.Repeat([]string{job.CancellationByOwner}, n),
			}))
		}
	}
	return all
}

// claims are of a small and of a large batch. Each sorts the owners of its turn.
var claims = []planned{claimOf(8, 16), claimOf(200, 200)}

func claimOf(jobs, owners int) planned {
	return named("claim", storetest.ClaimArgs(jobs)).sorting(owners)
}

// workerStatements are what a worker runs besides. The job is a running one of the owner's.
func workerStatements(owner job.Owner, running uuid.UUID) []planned {
	lease := worker.Lease{Owner: owner, JobID: running, ClaimID: leaseID}
	ofLease := func(name string, more statements.Args) planned { return named(name, storetest.LeaseArgs(lease, more)) }
	execute := func(records string, jobs ...uuid.UUID) planned {
		return named("execute", statements.Args{
			"owners": slices.Repeat([][]byte{owner[:]}, len(jobs)), "ids": jobs,
			"claim_ids": slices.Repeat([]uuid.UUID{leaseID}, len(jobs)), "records": records,
		})
	}
	return []planned{
		ofLease("leased payload", nil),
		ofLease("lease held", nil),
		ofLease("succeed", nil),
		execute(`{"[]"}`, running),
		execute(`{"[]","[]"}`, running, uuid.Nil),
		ofLease("retry", statements.Args{"delay": time.Second, "faults": 0, "outcome": job.AttemptRetried, "sql_state": "40001"}),
		ofLease("fail", statements.Args{"failure_code": job.FailureTarget, "sql_state": "23505", "record_ordinal": 0, "constraint_name": ""}),
		ofLease("refuse late", statements.Args{"attempt": 1, "started_at": "2026-01-01"}),
	}
}

// purges are what a purge runs, somewhere in the middle of its way.
func purges(owner job.Owner, behind uuid.UUID) []planned {
	args := statements.Args{"behind_owner": owner[:], "behind_id": behind, "age": time.Duration(0), "batch_size": 100}
	return []planned{named("count purgeable", args).sorting(100), named("purge", args).sorting(200)}
}

// allPlanned has each statement on jobs, for both owners where the rows that it needs do not grow with the owner.
func allPlanned() []planned {
	small, large := job.OwnerOf("small"), job.OwnerOf("large")
	all := slices.Concat(claims, workerStatements(small, rowID(220)), reads(small, 0, 1), writes(small, 0, 1), writes(large, 1000, 2),
		purges(small, rowID(300)), purges(large, rowID(1300)))
	all = append(all, named("backlog", statements.Args{"limit": 100})) // counts up to so many
	for _, st := range reads(large, 1000, 2) {
		if !st.ofOwner {
			all = append(all, st)
		}
	}
	return all
}

// askedFor tells for each index on jobs which statements ask for it.
var askedFor = map[string][]string{
	// One job, or the newest ones of an owner.
	"etl_job_records_primary_key": {"jobs", "list", "cancel", "cancel waiting", "execute", "succeed", "retry", "fail", "replay", "purge"},
	// The job that has a key; it also decides who gets one.
	"etl_job_records_submission_key_unique": {"find by key"},
	// The pending jobs of all owners, the oldest first.
	"etl_job_records_claimable_index": {"claim", "backlog"},
	// The pending jobs of each owner, the oldest first, for owners to take turns.
	"etl_job_records_pending_owner_index": {"claim"},
	// The running jobs by when their leases end.
	"etl_job_records_lease_index": {"claim", "backlog"},
	// An owner's jobs in one status, roots and replays apart, the newest first.
	"etl_job_records_status_index": {"list parts", "count by status"},
	// The jobs of a lineage, generation by generation.
	"etl_job_records_lineage_index": {"lineages", "lineage page", "lineage summary", "lineage sizes", "purge"},
	// The replays of a job, the oldest first; also whether a job that failed was replayed with success.
	"etl_job_records_replay_source_index": {"replays", "list parts"},
}

func TestNoStatementDoesWorkThatGrowsWithTheTable(t *testing.T) {
	t.Parallel()
	p := newPlanner(newWorld(t))
	type trial struct {
		planned
		mode string
		few  int
	}
	var trials []*trial
	p.seed(0, fewRows)
	for _, st := range allPlanned() {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			trials = append(trials, &trial{st, mode, p.explain(mode, st).buffers()})
		}
	}
	p.seed(fewRows, manyRows)
	used := map[string]map[string]bool{}
	for _, tr := range trials {
		plan := p.explain(tr.mode, tr.planned)
		require.NoError(t, plan.check(tr.limit), "%s %v, %s", tr.Name, tr.args, tr.mode)
		require.LessOrEqual(t, plan.buffers(), tr.mayTouch(tr.few), "buffers of %s %v, %s", tr.Name, tr.args, tr.mode)
		for _, index := range plan.indexes() {
			if used[index] == nil {
				used[index] = map[string]bool{}
			}
			used[index][tr.Name] = true
		}
	}
	for index, names := range askedFor {
		require.Subset(t, slices.Collect(maps.Keys(used[index])), names, index)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(askedFor)), p.indexes(), "the indexes on jobs")
}

// indexes are those that there are on jobs.
func (p *planner) indexes() []string {
	p.Helper()
	rows, err := p.conn.Query(p.Context(), "SELECT indexname::text FROM pg_indexes WHERE tablename = 'etl_job_records'")
	require.NoError(p, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p, err)
	return names
}

// The planner cannot know how many jobs a claim will take, nor how many owners wait. Where it supposes a share of the backlog, it
// reads the whole table once for each claim; where it knows of no backlog, it takes all plans on pending jobs for equally good.
func TestClaimLooksAtLittleMoreThanItTakes(t *testing.T) {
	t.Parallel()
	for _, owners := range []int{1, 16, 2000} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d owners, known to the planner: %t", owners, known), func(t *testing.T) {
				t.Parallel()
				p := newPlanner(newWorld(t))
				p.fail(fewRows)
				p.run("VACUUM ANALYZE etl_job_records")
				p.backlog(owners, fewRows)
				if known {
					p.run("VACUUM ANALYZE etl_job_records")
				}
				p.requireFrugalClaims()
			})
		}
	}
}

// fail makes jobs that have failed, ten of each owner.
func (p *planner) fail(jobs int) {
	p.Helper()
	p.run(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
			job_status, failure_code)
		SELECT sha256(int8send(n / 10)), gen_random_uuid(), sha256(int8send(n)), sha256('[]'), 0, 'FAILED', 'etl_target_failure'
		FROM generate_series(1, $1::bigint) AS n`, jobs)
}

// backlog makes pending jobs of some owners, those of each among those of the others, and the single one of another owner.
func (p *planner) backlog(owners, jobs int) {
	p.Helper()
	p.run(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload,
			record_count)
		SELECT sha256(int8send(-1 - n % $1)), pg_temp.id(n), sha256(int8send(n)), sha256('[]'), '[]', 0
		FROM generate_series(1, $2::bigint) AS n`, owners, jobs)
	p.Submit()
}

func (p *planner) requireFrugalClaims() {
	p.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, st := range claims {
			plan := p.explain(mode, st)
			require.NoError(p, plan.check(st.limit), "%s %v, %s", st.Name, st.args, mode)
			require.LessOrEqual(p, plan.passedOver(), float64(st.limit), "%s %v, %s", st.Name, st.args, mode)
		}
	}
}

// Statistics that know of no running job make an index by status look as good as the key. But it holds every job that was running since
// the last vacuum, and grows with what the workers do.
func TestOneJobIsLookedUpByItsKeyWhateverTheStatisticsSay(t *testing.T) {
	t.Parallel()
	p := newPlanner(newWorld(t))
	p.pending(0, fewRows)
	p.run("VACUUM ANALYZE etl_job_records")
	id := rowID(1)
	p.run(`UPDATE etl_job_records SET job_status = 'RUNNING', attempt_count = 1, lease_claim_id = $1, lease_owner_id = $1,
			lease_expires_at = 'infinity'
		WHERE job_record_id = $2`, leaseID, id)
	ofOne := append(cancellations(p.Owner, id, rowID(2)), workerStatements(p.Owner, id)...)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, st := range ofOne {
			require.Equal(t, []string{"etl_job_records_primary_key"}, p.explain(mode, st).indexes(), "%s, %s", st.Name, mode)
		}
	}
}

// notPlanned are the statements that look at no jobs, so that they have no plan to speak of.
var notPlanned = map[string]string{
	"begin": "ends or begins a transaction", "commit": "ends or begins a transaction", "rollback": "ends or begins a transaction",
	"session": "sets parameters", "set": "sets a parameter", "notify": "sends a notice",
	"load":           "writes the effects of one job, which it is given",
	"schema version": "reads the versions of the schema", "read only": "reads a parameter",
	"table holder":   "reads the server's sessions",
	"forget session": "sets parameters", "check constraints now": "sets how constraints are checked",
	"server facts": "reads parameters", "missing privileges": "reads the catalogue",
	"position": "reads how far the log is", "caught up": "reads how far the log is",
}

func TestEveryStatementIsPlanned(t *testing.T) {
	t.Parallel()
	tried := slices.Collect(maps.Keys(notPlanned))
	for _, st := range allPlanned() {
		require.NotContains(t, notPlanned, st.Name)
		tried = append(tried, st.Name)
	}
	var all []string
	for _, st := range statements.All() {
		all = append(all, st.Name)
	}
	slices.Sort(tried)
	require.Equal(t, all, slices.Compact(tried))
}
