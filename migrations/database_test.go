package migrations_test

import (
	"database/sql"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// latest is the version of the last migration.
const latest = 13

// database is one whose schema a test moves up and down.
type database struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	return open(t, pgtest.EmptyURL(t))
}

func open(t *testing.T, url string) *database {
	t.Helper()
	return &database{t, url, pgtest.PoolOn(t, url)}
}

// provider runs migration files on the database.
func (d *database) provider(files fs.FS) *goose.Provider {
	d.Helper()
	db, err := sql.Open("pgx", d.url)
	require.NoError(d, err)
	d.Cleanup(func() { _ = db.Close() })
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	require.NoError(d, err)
	return p
}

// up takes the schema up to a version; 0 is the empty database.
func (d *database) up(version int64) {
	d.Helper()
	if version > 0 {
		_, err := d.provider(migrations.FS).UpTo(d.Context(), version)
		require.NoError(d, err)
	}
	require.Equal(d, version, d.version())
}

func (d *database) down(version int64) {
	d.Helper()
	require.NoError(d, d.tryDown(version))
	require.Equal(d, version, d.version())
}

func (d *database) tryDown(version int64) error {
	_, err := d.provider(migrations.FS).DownTo(d.Context(), version)
	return err
}

func (d *database) version() int64 {
	d.Helper()
	version, err := d.provider(migrations.FS).GetDBVersion(d.Context())
	require.NoError(d, err)
	return version
}

// fill writes the rows of the versions from first to last.
func (d *database) fill(first, last int64) {
	d.Helper()
	for version := first; version <= last; version++ {
		d.exec(fixtures[version])
	}
}

// exec runs statements, one simple query after the other.
func (d *database) exec(statements string) {
	d.Helper()
	_, err := d.pool.Exec(d.Context(), statements, pgx.QueryExecModeSimpleProtocol)
	require.NoError(d, err)
}

// rows reads every row of every table, without the columns that are null: a column that one version adds, or takes away
// again, is null in the rows of an earlier one, but for a count, which is 0 there.
func (d *database) rows() []string {
	d.Helper()
	var rows []string
	for _, table := range []string{"etl_job_records", "processed_data", "etl_idempotency_records", "etl_job_attempts"} {
		rows = append(rows, d.rowsOf(table)...)
	}
	return rows
}

func (d *database) rowsOf(table string) []string {
	d.Helper()
	if !query[bool](d, "SELECT to_regclass($1) IS NOT NULL", table) {
		return nil
	}
	result, err := d.pool.Query(d.Context(), "SELECT (jsonb_strip_nulls(to_jsonb(r)) - 'fault_count')::text FROM "+table+" AS r ORDER BY 1")
	require.NoError(d, err)
	rows, err := pgx.CollectRows(result, pgx.RowTo[string])
	require.NoError(d, err)
	return rows
}

// query reads one value.
func query[T any](d *database, sql string, args ...any) T {
	d.Helper()
	var value T
	require.NoError(d, d.pool.QueryRow(d.Context(), sql, args...).Scan(&value))
	return value
}

// schemaSQL describes every column, constraint, index, trigger and function, but not whether the rows that were there before a constraint were
// looked at.
const schemaSQL = `
SELECT string_agg(line, E'\n' ORDER BY line) FROM (
	SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default)
	FROM information_schema.columns WHERE table_schema = 'public'
	UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, replace(pg_get_constraintdef(oid), ' NOT VALID', ''))
	FROM pg_constraint WHERE connamespace = 'public'::regnamespace
	UNION ALL SELECT concat_ws(' ', indexdef, indisvalid) FROM pg_indexes
	JOIN pg_index ON indexrelid = indexname::regclass WHERE schemaname = 'public'
	UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
	UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
) AS description (line)`

func (d *database) schema() string {
	d.Helper()
	return query[string](d, schemaSQL)
}

// requireMessage checks the text that the server refused something with.
func requireMessage(t testing.TB, text string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Contains(t, pgErr.Message, text)
}
