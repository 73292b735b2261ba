package roles_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/retention"
	"fencepost/internal/postgres/schema"
	"fencepost/internal/worker"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	insufficientPrivilege = "42501"
	restrictViolation     = "23001"
)

// database is one that was made as the files say, with a job that has succeeded and one that waits.
type database struct {
	t    *testing.T
	url  string
	done uuid.UUID
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{t: t, url: pgtest.EmptyURL(t)}
	superuser := d.as("")
	for range 2 { // it does no harm to run the files again
		d.mustExec(superuser, roles.Create)
		require.NoError(t, schema.Up(t.Context(), pgtest.As(t, d.url, roles.Migrator)))
		d.mustExec(d.as(roles.Migrator), roles.Grant)
	}
	d.mustExec(superuser, `CREATE SCHEMA other; CREATE TABLE other.secrets AS SELECT 'secret' AS secret`)

	store := postgres.NewStore(d.as(roles.Server), postgres.Config{LockTimeout: time.Minute, CallTimeout: time.Minute})
	t.Cleanup(store.Close)
	d.done = d.submit(store)
	claimed, err := store.Claim(t.Context(), worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1, Duration: time.Hour, MaxAttempts: 3})
	require.NoError(t, err)
	require.NoError(t, store.Execute(t.Context(), claimed.Leases[0]))
	d.submit(store)
	return d
}

func (d *database) submit(store *postgres.Store) uuid.UUID {
	d.t.Helper()
	id := uuid.Must(uuid.NewV7())
	payload, err := job.ParsePayload([]byte(`[{"id":"a"}]`), job.Limits{MaxPayloadBytes: 1024, MaxBatchRecords: 10})
	require.NoError(d.t, err)
	_, inserted, _, err := store.Submit(d.t.Context(),
		job.NewJob{Owner: job.OwnerOf("ann"), ID: id, KeyHash: job.Hash(job.OwnerOf(id.String())), Payload: payload})
	require.NoError(d.t, err)
	require.True(d.t, inserted)
	return id
}

// as is a pool of a role.
func (d *database) as(role string) *pgxpool.Pool {
	d.t.Helper()
	return pgtest.PoolOn(d.t, pgtest.As(d.t, d.url, role))
}

func (d *database) mustExec(pool *pgxpool.Pool, sql string) {
	d.t.Helper()
	_, err := pool.Exec(d.t.Context(), sql)
	require.NoError(d.t, err, sql)
}

// requireRefused checks that each statement of a role is refused with a SQLSTATE, and that nothing has changed.
func (d *database) requireRefused(pool *pgxpool.Pool, state string, statements ...string) {
	d.t.Helper()
	for _, sql := range statements {
		_, err := pool.Exec(d.t.Context(), sql)
		var refusal *pgconn.PgError
		require.ErrorAs(d.t, err, &refusal, sql)
		require.Equal(d.t, state, refusal.Code, "%s: %s", sql, refusal.Message)
	}
}

// beyondEverybody is what none of the roles may do but the migrator.
var beyondEverybody = []string{
	`ALTER TABLE etl_job_records ADD COLUMN extra text`,
	`ALTER TABLE etl_job_records DROP CONSTRAINT etl_job_records_status_vocabulary`,
	`ALTER TABLE etl_job_records DISABLE TRIGGER ALL`,
	`ALTER TABLE etl_job_records DISABLE TRIGGER etl_job_records_terminal_is_final`,
	`ALTER FUNCTION etl_refuse_job_record_change() RENAME TO gone`,
	`CREATE OR REPLACE FUNCTION etl_refuse_job_record_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
	`CREATE TRIGGER mine BEFORE INSERT ON etl_job_records EXECUTE FUNCTION etl_refuse_job_record_change()`,
	`CREATE INDEX ON etl_job_records (updated_at)`,
	`DROP TABLE etl_job_records CASCADE`,
	`DROP TRIGGER etl_job_records_terminal_is_final ON etl_job_records`,
	`TRUNCATE etl_job_records CASCADE`,
	`TRUNCATE processed_data`,
	`SET session_replication_role = replica`,
	`CREATE TABLE mine ()`,
	`CREATE TEMPORARY TABLE mine ()`,
	`CREATE SCHEMA mine`,
	`ALTER TABLE etl_job_records OWNER TO fencepost_server`,
	`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`,
	`SELECT * FROM other.secrets`,
	`SELECT * FROM pg_authid`,
	`COPY etl_job_records (job_record_id) TO PROGRAM 'cat'`,
	`SELECT pg_read_file('PG_VERSION')`,
}

func TestServerDoesItsWorkAndNothingBeyond(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	server := d.as(roles.Server)
	d.requireRefused(server, insufficientPrivilege, beyondEverybody...)
	d.requireRefused(server, insufficientPrivilege,
		`DELETE FROM etl_job_records`,
		`DELETE FROM etl_idempotency_records`,
		`DELETE FROM processed_data`,
		`UPDATE etl_idempotency_records SET record_count = 7`,
		`UPDATE processed_data SET record_body = '{}'`,
		`SELECT * FROM processed_data`,
		`SELECT * FROM etl_idempotency_records`,
		`UPDATE etl_job_records SET principal_scope_hash = sha256('x')`,
		`UPDATE etl_job_records SET request_digest = sha256('x')`,
		`UPDATE etl_job_records SET replay_generation_count = 1`,
	)
	d.requireRefused(server, restrictViolation, `UPDATE etl_job_records SET job_status = 'PENDING' WHERE job_status = 'SUCCEEDED'`)
	d.mustExec(server, `LISTEN fencepost; NOTIFY fencepost`)
	require.NoError(t, schema.Check(t.Context(), server))
}

func TestRetentionRemovesJobsAndReadsNothingSecret(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	purger := d.as(roles.Retention)
	d.requireRefused(purger, insufficientPrivilege, beyondEverybody...)
	d.requireRefused(purger, insufficientPrivilege,
		`SELECT request_payload FROM etl_job_records`,
		`SELECT submission_key_hash FROM etl_job_records`,
		`SELECT record_body FROM processed_data`,
		`INSERT INTO etl_job_records DEFAULT VALUES`,
		`UPDATE etl_job_records SET job_status = 'CANCELLED'`,
		`DELETE FROM processed_data`,
	)
	d.requireRefused(purger, restrictViolation, `UPDATE etl_job_records SET updated_at = now() WHERE job_status = 'SUCCEEDED'`)
	require.NoError(t, schema.Check(t.Context(), purger))
	purged, err := retention.Purge(t.Context(), purger, retention.Policy{BatchSize: 10})
	require.NoError(t, err)
	require.Equal(t, retention.Purged{Lineages: 1, Jobs: 1, LedgerRows: 1}, purged)
}

func TestReaderSeesHowJobsAreDoingAndNothingSecret(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	reader := d.as(roles.Reader)
	d.requireRefused(reader, insufficientPrivilege, beyondEverybody...)
	for _, column := range []string{
		"request_payload", "principal_scope_hash", "submission_key_hash", "request_digest", "cancellation_key_hash",
		"lease_claim_id", "lease_owner_id", "trace_parent", "*",
	} {
		d.requireRefused(reader, insufficientPrivilege, `SELECT `+column+` FROM etl_job_records`)
	}
	d.requireRefused(reader, insufficientPrivilege,
		`SELECT count(*) FROM processed_data`,
		`SELECT principal_scope_hash FROM etl_idempotency_records`,
		`SELECT request_digest FROM etl_idempotency_records`,
		`INSERT INTO etl_job_records DEFAULT VALUES`,
		`UPDATE etl_job_records SET updated_at = now()`,
		`DELETE FROM etl_job_records`,
		`SELECT job_record_id FROM etl_job_records FOR SHARE`,
	)
	var id uuid.UUID
	require.NoError(t, reader.QueryRow(t.Context(), `SELECT job_record_id FROM etl_job_records JOIN etl_idempotency_records
		USING (job_record_id) WHERE job_status = 'SUCCEEDED' AND executed_at > created_at`).Scan(&id))
	require.Equal(t, d.done, id)
}

// The tests begin as a superuser and take a role, so this is asked of the catalog.
func TestNoRoleCanBecomeAnother(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var attributes, memberships, grantable int
	require.NoError(t, d.as("").QueryRow(t.Context(), `SELECT
		count(*) FILTER (WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls),
		(SELECT count(*) FROM pg_auth_members WHERE member = ANY (array_agg(role.oid))),
		(SELECT count(*) FROM information_schema.column_privileges
			WHERE table_schema = 'public' AND is_grantable = 'YES' AND grantee <> 'fencepost_migrator')
		FROM pg_roles AS role WHERE rolname LIKE 'fencepost\_%'`).Scan(&attributes, &memberships, &grantable))
	require.Zero(t, attributes, "roles with attributes")
	require.Zero(t, memberships, "roles that are members of another")
	require.Zero(t, grantable, "privileges that can be passed on")
}

func TestNobodyElseMayEvenConnect(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	superuser := d.as("")
	stranger := "stranger_of_" + superuser.Config().ConnConfig.Database // roles are of the whole server
	d.mustExec(superuser, `CREATE ROLE `+stranger)
	t.Cleanup(func() { _, _ = superuser.Exec(context.Background(), `DROP ROLE `+stranger) })
	var may bool
	require.NoError(t, superuser.QueryRow(t.Context(), `SELECT has_database_privilege($1, current_database(), 'CONNECT')
		OR has_schema_privilege($1, 'public', 'USAGE')`, stranger).Scan(&may))
	require.False(t, may)
}

func TestEveryColumnIsEitherForReadersOrSecret(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var hidden []string
	require.NoError(t, d.as("").QueryRow(t.Context(), `SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'etl_job_records'::regclass AND attnum > 0 AND NOT attisdropped
			AND NOT has_column_privilege('fencepost_reader', attrelid, attnum, 'SELECT')`).Scan(&hidden))
	require.Equal(t, []string{
		"principal_scope_hash", "submission_key_hash", "request_digest", "request_payload",
		"lease_claim_id", "lease_owner_id", "cancellation_key_hash", "trace_parent",
	}, hidden)
}
