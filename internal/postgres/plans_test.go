package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
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
	conn, err := pgx.Connect(w.Context(), pgtest.Superuser(w, w.url))
	require.NoError(w, err)
	p := &planner{w, conn}
	w.Cleanup(func() { require.NoError(w, conn.Close(context.WithoutCancel(w.Context()))) })
	p.run(sessionSQL)
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
	p.run("VACUUM ANALYZE etl_job_records, etl_idempotency_records")
}

// pending makes pending jobs of the owner.
func (p *planner) pending(from, to int) {
	p.Helper()
	p.run(`INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count)
		SELECT $1, pg_temp.id(n), sha256(int8send(n)), sha256('[]'), '[]', 0 FROM generate_series($2::bigint, $3::bigint) AS n`,
		p.owner[:], from, to-1)
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
	_, err := p.conn.Prepare(p.Context(), st.name, st.sql)
	require.NoError(p, err, st.name)
	defer func() { require.NoError(p, p.conn.Deallocate(p.Context(), st.name)) }()
	return p.explainPrepared(st)
}

// explainPrepared runs a statement that is prepared under its name, and returns what it did.
func (p *planner) explainPrepared(st planned) node {
	p.Helper()
	var text []byte
	explained := "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + st.execute()
	require.NoError(p, p.conn.QueryRow(p.Context(), explained).Scan(&text), st.name)
	var plans []struct{ Plan node }
	require.NoError(p, json.Unmarshal(text, &plans))
	return plans[0].Plan
}

// execute runs the statement that is prepared under its name.
func (st planned) execute() string {
	arguments := make([]string, len(st.args))
	for i, arg := range st.args {
		arguments[i] = literal(arg)
	}
	return fmt.Sprintf(`EXECUTE "%s"(%s)`, st.name, strings.Join(arguments, ", "))
}

// literal writes an argument in SQL, because EXECUTE takes no parameters.
func literal(arg any) string {
	switch arg := arg.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf(`'\x%x'`, arg)
	case [][]byte:
		return fmt.Sprintf(`'{"\\x%x","\\x%x"}'`, arg[0], arg[1])
	case []uuid.UUID:
		return "'{" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(arg), "[]")), ",") + "}'"
	case time.Duration:
		return fmt.Sprintf("'%d microseconds'", arg.Microseconds())
	default:
		return fmt.Sprintf("'%v'", arg)
	}
}

// planned is a statement with arguments that occur in use, and the most rows that it has to sort.
type planned struct {
	name  string
	sql   string
	args  []any
	limit int
	// ofOwner tells that the statement may look at all jobs of its owner, so that it is only tried with the small one.
	ofOwner bool
}

// reads are what an owner's queries run. The owner has a lineage from row first on, whose rows are step apart.
func reads(owner job.Owner, first, step int) []planned {
	o, page := owner[:], job.MaxPageSize+1
	root, leaf, some := rowID(first), rowID(first+99*step), rowID(first+300*step)
	list := func(unresolved any, more ...any) []any {
		return append([]any{o, nil, nil, unresolved, uuid.Max, page}, more...)
	}
	every := "{PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED}"
	count := func(parts ...any) []any { return append([]any{o, nil, nil, nil}, parts...) }
	return []planned{
		{name: "jobSQL", sql: jobSQL, args: []any{o, some}},
		{name: "gatheredSQL", sql: gatheredSQL, args: []any{[][]byte{o, o}, []uuid.UUID{some, leaf}}},
		{name: "jobsSQL", sql: jobsSQL, args: []any{o, []uuid.UUID{some, leaf}}},
		{name: "listSQL", sql: listSQL, args: []any{o, uuid.Max, page}},
		{name: "listSQL", sql: listSQL, args: []any{o, some, page}},
		{name: "listFilteredSQL", sql: listFilteredSQL, args: list(nil)},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(nil, "{SUCCEEDED}", "{f,t}"), limit: page},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(nil, "{RUNNING}", "{f}"), limit: page},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(nil, "{PENDING,RUNNING,FAILED,CANCELLED}", "{f,t}"), limit: 8 * page},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(nil, every, "{t}"), limit: page},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(true, "{FAILED,CANCELLED}", "{f,t}"), limit: 4 * page},
		{name: "listPartsSQL", sql: listPartsSQL, args: list(true, "{FAILED}", "{t}"), limit: page},
		{name: "countByStatusSQL", sql: countByStatusSQL, args: count("{RUNNING}", nil), ofOwner: true, limit: jobsOfSmall},
		{name: "countByStatusSQL", sql: countByStatusSQL, args: count(every, nil), ofOwner: true, limit: jobsOfSmall},
		{name: "lineagesSQL", sql: lineagesSQL, args: []any{o, []uuid.UUID{leaf, some}, job.MaxLineageJobs + 1}, limit: 100},
		{name: "lineageSizesSQL", sql: lineageSizesSQL, args: []any{o, []uuid.UUID{root}}, limit: 100},
		{name: "ancestriesSQL", sql: ancestriesSQL, args: []any{o, []uuid.UUID{leaf}}, limit: 100},
		{name: "lineageSummarySQL", sql: lineageSummarySQL, args: []any{o, leaf}, limit: 100},
		{name: "lineagePageSQL", sql: lineagePageSQL, args: []any{o, leaf, 0, uuid.Nil, page}, limit: page},
		{name: "lineagePageSQL", sql: lineagePageSQL, args: []any{o, leaf, 50, rowID(first + 50*step), page}, limit: page},
		{name: "replaysSQL", sql: replaysSQL, args: []any{o, []uuid.UUID{root, leaf, some}, uuid.Nil, page}, limit: 3},
	}
}

// writes are what an owner's mutations run.
func writes(owner job.Owner, first, step int) []planned {
	o, fresh, hash, digest := owner[:], uuid.Must(uuid.NewV7()), bytes.Repeat([]byte{1}, 32), sha256.Sum256([]byte("[]"))
	failed, pending, cancelled := rowID(first+98*step), rowID(first+210*step), rowID(first+240*step)
	return []planned{
		{name: "submitSQL", sql: submitSQL, args: []any{o, fresh, hash, digest[:], []byte("[]"), 0}},
		{name: "gatheredSubmitSQL", sql: gatheredSubmitSQL, limit: 2, args: []any{
			[][]byte{o, o},
			[]uuid.UUID{fresh, uuid.Must(uuid.NewV7())},
			[][]byte{hash, digest[:]},
			[][]byte{digest[:], digest[:]},
			[][]byte{[]byte("[]"), []byte("[]")},
			"{0,0}",
		}},
		{name: "findByKeySQL", sql: findByKeySQL, args: []any{o, hash, digest[:]}},
		{name: "replaySQL", sql: replaySQL, args: []any{o, failed, fresh, hash, digest[:], []byte("[]"), job.MaxGeneration}},
		{name: "findSourceSQL", sql: findSourceSQL, args: []any{o, failed, digest[:]}},
		{name: "cancelSQL", sql: cancelSQL, args: []any{o, pending, hash, job.CancellationByOwner}},
		{name: "gatheredCancelSQL", sql: gatheredCancelSQL, args: []any{
			[][]byte{o, o}, []uuid.UUID{pending, cancelled}, [][]byte{hash, hash}, job.CancellationByOwner,
		}},
		{name: "findCancelledSQL", sql: findCancelledSQL, args: []any{o, cancelled, hash}},
	}
}

// claims are of a small and of a large batch. Each sorts the owners of its turn.
var claims = []planned{claimOf(8, 16), claimOf(200, 200)}

func claimOf(jobs, owners int) planned {
	args := []any{jobs, leaseID, time.Minute, 5, job.FailureAttemptsExhausted, maxClaimedPayload}
	return planned{name: "claimSQL", sql: claimSQL, args: args, limit: owners}
}

// workerStatements are what a worker runs besides. The job is a running one of the owner's.
func workerStatements(owner job.Owner, running uuid.UUID) []planned {
	o := owner[:]
	return []planned{
		{name: "backlogSQL", sql: backlogSQL, args: []any{100}}, // counts up to so many
		{name: "leasedPayloadSQL", sql: leasedPayloadSQL, args: []any{o, running, leaseID}},
		{name: "succeedSQL", sql: succeedSQL, args: []any{o, running, leaseID}},
		{name: "gatheredExecutionSQL", sql: gatheredExecutionSQL, args: []any{
			[][]byte{o, o}, []uuid.UUID{running, uuid.Nil}, []uuid.UUID{leaseID, leaseID}, `{"[]","[]"}`,
		}},
		{name: "retrySQL", sql: retrySQL, args: []any{o, running, leaseID, time.Second}},
		{name: "failSQL", sql: failSQL, args: []any{o, running, leaseID, job.FailureTarget}},
	}
}

// purges are what a purge runs, somewhere in the middle of its way.
func purges(owner job.Owner, behind uuid.UUID) []planned {
	args := []any{owner[:], behind, time.Duration(0), 100}
	return []planned{
		{name: "countPurgeableSQL", sql: countPurgeableSQL, args: args, limit: 100},
		{name: "purgeSQL", sql: purgeSQL, args: args, limit: 200},
	}
}

// allStatements has each statement of the package, for both owners where the rows that it needs do not grow with the owner.
func allStatements() []planned {
	small, large := job.OwnerOf("small"), job.OwnerOf("large")
	all := slices.Concat(claims, workerStatements(small, rowID(220)), reads(small, 0, 1), writes(small, 0, 1), writes(large, 1000, 2),
		purges(small, rowID(300)), purges(large, rowID(1300)))
	for _, st := range reads(large, 1000, 2) {
		if !st.ofOwner {
			all = append(all, st)
		}
	}
	return all
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
	for _, st := range allStatements() {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			trials = append(trials, &trial{st, mode, p.explain(mode, st).buffers()})
		}
	}
	p.seed(fewRows, manyRows)
	for _, tr := range trials {
		plan := p.explain(tr.mode, tr.planned)
		require.NoError(t, plan.check(tr.limit), "%s %v, %s", tr.name, tr.args, tr.mode)
		require.LessOrEqual(t, plan.buffers(), tr.mayTouch(tr.few), "buffers of %s %v, %s", tr.name, tr.args, tr.mode)
	}
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
	p.submit()
}

func (p *planner) requireFrugalClaims() {
	p.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, st := range claims {
			plan := p.explain(mode, st)
			require.NoError(p, plan.check(st.limit), "%s %v, %s", st.name, st.args, mode)
			require.LessOrEqual(p, plan.passedOver(), float64(st.limit), "%s %v, %s", st.name, st.args, mode)
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
	o, id, hash := p.owner[:], rowID(1), bytes.Repeat([]byte{1}, 32)
	p.run(`UPDATE etl_job_records SET job_status = 'RUNNING', lease_claim_id = $1, lease_owner_id = $1, lease_expires_at = 'infinity'
		WHERE job_record_id = $2`, leaseID, id)
	ofOne := []planned{
		{name: "cancelSQL", sql: cancelSQL, args: []any{o, id, hash, job.CancellationByOwner}},
		{name: "gatheredCancelSQL", sql: gatheredCancelSQL, args: []any{
			[][]byte{o, o}, []uuid.UUID{id, rowID(2)}, [][]byte{hash, hash}, job.CancellationByOwner,
		}},
	}
	for _, st := range workerStatements(p.owner, id) {
		if st.name != "backlogSQL" {
			ofOne = append(ofOne, st)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, st := range ofOne {
			require.Equal(t, []string{"etl_job_records_primary_key"}, p.explain(mode, st).indexes(), "%s, %s", st.name, mode)
		}
	}
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

// notPlanned are constants that are no statements on jobs, or only a part of one.
var notPlanned = []string{"sessionSQL", "filterSQL", "schemaVersionSQL", "positionSQL", "caughtUpSQL"}

func TestEveryStatementIsPlanned(t *testing.T) {
	t.Parallel()
	tried := slices.Clone(notPlanned)
	for _, st := range allStatements() {
		tried = append(tried, st.name)
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && strings.HasSuffix(spec.Names[0].Name, "SQL") {
				require.Contains(t, tried, spec.Names[0].Name)
			}
			return true
		})
	}
}
