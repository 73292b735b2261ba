package migrations_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/schema"
)

// concurrentIndexes are the indexes that versions of their own build concurrently. A build that is interrupted leaves an
// invalid index, which serves no query and still slows every write; migrating again must replace it.
var concurrentIndexes = map[int64]string{
	5:  "etl_job_records_lineage_index",
	6:  "etl_job_records_replay_source_index",
	8:  "etl_job_records_status_index",
	9:  "etl_job_records_pending_owner_index",
	10: "etl_job_records_lease_index",
}

// lastIndex is the last of these versions.
const lastIndex = 10

func TestIndexBuildWhoseConnectionEndedIsRepairedByMigratingAgain(t *testing.T) {
	t.Parallel()
	for version, index := range concurrentIndexes {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.up(version - 1)
			d.fill(1, version-1)
			d.interruptBuild()
			d.requireRepair(version, index)
		})
	}
}

func TestIndexBuildInACrashOfTheServerIsRepairedByMigratingAgain(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	url := pgtest.As(t, server.URL(), roles.Migrator)
	d := open(t, url)
	d.down(4)
	d.fill(1, 4)
	building, _ := d.buildBehindWriter()
	server.Crash(t)
	require.Error(t, <-building)
	server.Start(t)
	open(t, url).requireRepair(5, concurrentIndexes[5])
}

func TestInterruptedIndexBuildDoesNotHinderGoingDown(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.up(lastIndex - 1)
	d.fill(1, 4)
	d.interruptBuild()
	before := d.rows()
	d.down(4)
	require.Equal(t, before, d.rows())
	require.True(t, d.invalid(concurrentIndexes[lastIndex]), "the version that would drop it was never reached")
	d.up(lastIndex)
	require.False(t, d.invalid(concurrentIndexes[lastIndex]))
}

// Between the end of a build and the record of its version a crash leaves a valid index of a version that is not there.
func TestIndexWithoutItsVersionIsReplacedByMigratingAgain(t *testing.T) {
	t.Parallel()
	for version, index := range concurrentIndexes {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.up(version)
			d.fill(1, version)
			rows, before := d.rows(), d.schema()
			d.exec(fmt.Sprint("DELETE FROM goose_db_version WHERE version_id = ", version))
			d.up(version)
			require.Equal(t, rows, d.rows())
			require.Equal(t, before, d.schema())
		})
	}
}

// buildBehindWriter starts to migrate up and returns when an index build waits for the end of a writer's transaction.
func (d *database) buildBehindWriter() (building <-chan error, writer pgx.Tx) {
	d.Helper()
	writer, err := d.pool.Begin(d.Context())
	require.NoError(d, err)
	d.Cleanup(func() { _ = writer.Rollback(context.Background()) })
	_, err = writer.Exec(d.Context(), "UPDATE etl_job_records SET updated_at = updated_at WHERE job_status = 'PENDING'")
	require.NoError(d, err)
	done := make(chan error, 1)
	go func() { done <- schema.Up(d.Context(), d.url) }()
	pgtest.WaitForBlockedBy(d, d.pool, writer.Conn().PgConn().PID())
	return done, writer
}

// interruptBuild ends the connection of an index build half-way.
func (d *database) interruptBuild() {
	d.Helper()
	building, writer := d.buildBehindWriter()
	d.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0")
	require.Error(d, <-building)
	require.NoError(d, writer.Rollback(d.Context()))
}

// requireRepair checks that the version is not there and its index is invalid, and that migrating puts both right.
func (d *database) requireRepair(version int64, index string) {
	d.Helper()
	before := d.rows()
	require.Equal(d, version-1, d.version())
	require.True(d, d.invalid(index))
	require.NoError(d, schema.Up(d.Context(), d.url))
	require.NoError(d, schema.Check(d.Context(), d.pool))
	require.False(d, d.invalid(index))
	require.Equal(d, before, d.rows())
}

func (d *database) invalid(index string) bool {
	d.Helper()
	return !query[bool](d, "SELECT indisvalid FROM pg_index WHERE indexrelid = $1::text::regclass", index)
}
