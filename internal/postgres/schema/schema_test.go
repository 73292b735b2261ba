package schema

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"fencepost/deploy/roles"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMigratingUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	pool := pgtest.PoolOn(t, url)
	want := latestVersion()

	require.Equal(t, &Error{Have: 0, Want: want}, Check(t.Context(), pool))
	require.NoError(t, Up(t.Context(), url))
	require.NoError(t, Check(t.Context(), pool))
	for version := want - 1; version >= 0; version-- {
		require.NoError(t, Migrator{URL: url}.Down(t.Context(), version))
		err := Check(t.Context(), pool)
		require.Equal(t, &Error{Have: version, Want: want}, err)
		require.ErrorContains(t, err, "fencepost migrate up")
	}
	require.NoError(t, Up(t.Context(), url))
	require.NoError(t, Check(t.Context(), pool))
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.SuperuserPool(t, pgtest.URL(t))
	_, err := pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	require.NoError(t, err)
	err = Check(t.Context(), pool)
	require.Equal(t, &Error{Have: 99999, Want: latestVersion()}, err)
	require.ErrorContains(t, err, "newer fencepost")
}

func TestMigrationsAreListedWithTheirState(t *testing.T) {
	t.Parallel()
	url := pgtest.As(t, pgtest.URL(t), roles.Migrator)
	require.NoError(t, Migrator{URL: url}.Down(t.Context(), 1))
	list, err := Migrations(t.Context(), url)
	require.NoError(t, err)
	require.Len(t, list, int(latestVersion()))
	for i, m := range list {
		require.EqualValues(t, i+1, m.Version)
		require.Equal(t, i == 0, m.Applied, m.Name)
		require.Equal(t, i == 0, !m.AppliedAt.IsZero(), m.Name)
	}
}

func TestConcurrentMigratorsWaitForEachOther(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	var group sync.WaitGroup
	errs := make(chan error, 10)
	for range cap(errs) {
		group.Go(func() { errs <- Up(t.Context(), url) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, Check(t.Context(), pgtest.PoolOn(t, url)))
}

func TestMigratingWithoutFilesIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Migrator{URL: pgtest.EmptyURL(t), files: fstest.MapFS{}}.Up(t.Context()), goose.ErrNoMigrations)
}

func TestMalformedDatabaseURLIsAnError(t *testing.T) {
	t.Parallel()
	const url = "postgres://user@host:notaport/"
	require.Error(t, Up(t.Context(), url))
}

func TestReadOnlyDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	require.NoError(t, Ready(t.Context(), pgtest.PoolOn(t, url)))
	readOnly := pgtest.PoolOn(t, url+"&default_transaction_read_only=on")
	require.NoError(t, Check(t.Context(), readOnly))
	require.ErrorIs(t, Ready(t.Context(), readOnly), job.ErrUnavailable)

	var old *Error
	require.ErrorAs(t, Ready(t.Context(), pgtest.PoolOn(t, pgtest.EmptyURL(t))), &old)
}

// reader is a session that has read the jobs in a transaction which it does not end.
func reader(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := pgtest.PoolOn(t, url+"&application_name=nightly-report").Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), "SELECT FROM etl_job_records")
	require.NoError(t, err)
	return tx
}

func TestMigrationStepsBackForWhoeverUsesItsTableAndTellsWho(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	pool := pgtest.PoolOn(t, url)
	migrator := pgtest.As(t, url, roles.Migrator)
	require.NoError(t, Migrator{URL: migrator}.Down(t.Context(), latestVersion()-2))
	reading := reader(t, url)
	var told []Holder
	m := Migrator{URL: migrator + "&lock_timeout=10ms", pause: time.Millisecond, Waiting: func(h Holder) {
		told = append(told, h)
		_, err := pool.Exec(t.Context(), "SELECT FROM etl_job_records") // nobody waits behind it now
		require.NoError(t, err)
		if len(told) == 3 {
			require.NoError(t, reading.Rollback(t.Context()))
		}
	}}
	require.NoError(t, m.Up(t.Context()))
	require.NoError(t, Check(t.Context(), pool))
	require.GreaterOrEqual(t, len(told), 3)
	pid := int(reading.Conn().PgConn().PID())
	require.Equal(t, Holder{ProcessID: pid, Role: reading.Conn().Config().User, Application: "nightly-report"}, told[0])
	require.Equal(t, fmt.Sprintf(`process %d of role %q, application "nightly-report"`, pid, told[0].Role), told[0].String())
}

func TestMigrationThatIsKeptWaitingSaysByWhomAndLeavesTheSchemaAsItWas(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.URL(t))
	before := latestVersion() - 2
	migrator := pgtest.As(t, url, roles.Migrator)
	require.NoError(t, Migrator{URL: migrator}.Down(t.Context(), before))
	reader(t, url)
	m := Migrator{URL: migrator + "&lock_timeout=10ms", pause: time.Millisecond, tries: 2}
	require.ErrorContains(t, m.Up(t.Context()), `application "nightly-report": end that transaction`)
	require.Equal(t, &Error{Have: before, Want: latestVersion()}, Check(t.Context(), pgtest.PoolOn(t, url)))

	ctx, cancel := context.WithCancel(t.Context())
	m.pause, m.Waiting = time.Hour, func(Holder) { cancel() }
	require.ErrorIs(t, m.Up(ctx), context.Canceled)
}

func TestNobodyInTheWayAnyMoreIsNoError(t *testing.T) {
	t.Parallel()
	h, err := Migrator{URL: pgtest.Direct(pgtest.URL(t))}.holder(t.Context())
	require.NoError(t, err)
	require.Zero(t, h)
	_, err = Migrator{URL: "postgres://user@host:notaport/"}.holder(t.Context())
	require.Error(t, err)
}

func TestStepThatAConcurrentMigratorHasMadeIsMade(t *testing.T) {
	t.Parallel()
	m := Migrator{URL: pgtest.As(t, pgtest.Direct(pgtest.URL(t)), roles.Migrator)}
	steps, err := m.list(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.apply(t.Context(), steps[len(steps)-1], true))
	require.NoError(t, m.Down(t.Context(), latestVersion()-1))
	require.NoError(t, m.apply(t.Context(), steps[len(steps)-1], false))
}

func TestIndexIsBuiltWithoutATimeout(t *testing.T) {
	t.Parallel()
	url := pgtest.Direct(pgtest.EmptyURL(t))
	const told = "INSERT INTO told SELECT current_setting('lock_timeout'), current_setting('statement_timeout');"
	files := fstest.MapFS{
		"00001_table.sql": {Data: []byte("-- +goose Up\nCREATE TABLE told (lock_timeout text, statement_timeout text);\n")},
		"00002_alter.sql": {Data: []byte("-- +goose Up\n" + told + "\n")},
		"00003_index.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\n" + told + "\n")},
	}
	admin := pgtest.SuperuserPool(t, url)
	_, err := admin.Exec(t.Context(), "ALTER ROLE CURRENT_USER IN DATABASE "+pgx.Identifier{admin.Config().ConnConfig.Database}.Sanitize()+
		" SET statement_timeout = '60ms'")
	require.NoError(t, err)
	require.NoError(t, Migrator{URL: admin.Config().ConnString(), files: files}.Up(t.Context()))
	var alter, index string
	require.NoError(t, admin.QueryRow(t.Context(), "SELECT min(lock_timeout), max(lock_timeout) FROM told WHERE statement_timeout = '0'").Scan(&index, &alter))
	require.Equal(t, "0 1s", index+" "+alter)
}
