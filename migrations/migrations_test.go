package migrations_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"fencepost/internal/postgres/schema"
	"fencepost/migrations"
)

func TestEveryUpgradeAndItsRollbackKeepEveryRow(t *testing.T) {
	t.Parallel()
	for from := int64(0); from <= latest; from++ {
		for to := from + 1; to <= latest; to++ {
			t.Run(fmt.Sprintf("%d to %d", from, to), func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				d.up(from)
				d.fill(1, from)
				before := d.rows()
				d.up(to)
				require.Equal(t, before, d.rows())
				d.down(from)
				require.Equal(t, before, d.rows())
				d.up(latest)
				require.Equal(t, before, d.rows())
			})
		}
	}
}

func TestRowsWrittenAfterAnUpgradeSurviveTheNextOne(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for version := int64(1); version <= latest; version++ {
		before := d.rows()
		d.up(version)
		require.Equal(t, before, d.rows(), version)
		d.fill(version, version)
	}
	require.Equal(t, int64(12), query[int64](d, "SELECT count(*) FROM etl_job_records"))
	require.Equal(t, int64(5), query[int64](d, "SELECT count(DISTINCT job_status) FROM etl_job_records"))
}

func TestGoingDownLeavesTheSchemaThatGoingUpMade(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var made []string
	for version := range int64(latest + 1) {
		d.up(version)
		made = append(made, d.schema())
	}
	for version := int64(latest - 1); version >= 0; version-- {
		d.down(version)
		require.Equal(t, made[version], d.schema(), version)
	}
	d.up(latest)
	require.Equal(t, made[latest], d.schema())
}

func TestGoingDownRefusesToLoseWhatRowsHold(t *testing.T) {
	t.Parallel()
	for version, reason := range map[int64]string{
		1: "etl_job_records still has rows",
		2: "processed_data or etl_idempotency_records still has rows",
		3: "etl_job_records has CANCELLED jobs",
		4: "etl_job_records has replays",

		12: "tells why jobs failed",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.up(latest)
			d.fill(1, version)
			before := d.rows()

			requireMessage(t, reason, d.tryDown(0))
			require.Equal(t, before, d.rows(), "nothing is lost")
			require.Equal(t, version, d.version(), "the steps before the refused one were taken")

			d.exec(removals[version])
			rest := d.rows()
			d.down(version - 1)
			require.Equal(t, rest, d.rows())
		})
	}
}

func TestGoingDownRefusesEitherKindOfEffects(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"processed_data", "etl_idempotency_records"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.up(2)
			d.fill(1, 2)
			d.exec("DELETE FROM " + table)
			requireMessage(t, "would lose effects", d.tryDown(1))
			require.Len(t, d.rows(), 7)
		})
	}
}

func TestServerRefusesASchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	require.Equal(t, &schema.Error{Have: 0, Want: latest}, schema.Check(t.Context(), d.pool))
	for version := int64(1); version < latest; version++ {
		d.up(version)
		d.fill(version, version)
		err := schema.Check(t.Context(), d.pool)
		require.Equal(t, &schema.Error{Have: version, Want: latest}, err)
		require.ErrorContains(t, err, "fencepost migrate up")
	}
	d.up(latest)
	require.NoError(t, schema.Check(t.Context(), d.pool))

	d.upgradeBeyond()
	err := schema.Check(t.Context(), d.pool)
	require.Equal(t, &schema.Error{Have: latest + 1, Want: latest}, err)
	require.ErrorContains(t, err, fmt.Sprint("fencepost migrate down --to ", latest))
}

func TestOldProgramLeavesANewerSchemaAlone(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.up(latest)
	d.fill(1, latest)
	newer := d.upgradeBeyond()
	before, rows := d.schema(), d.rows()

	require.NoError(t, schema.Up(t.Context(), d.url), "there is nothing that it could add")
	require.Error(t, schema.Migrator{URL: d.url}.Down(t.Context(), 4), "it has no file for the step")
	require.Equal(t, before, d.schema())
	require.Equal(t, rows, d.rows())

	_, err := d.provider(newer).DownTo(t.Context(), latest)
	require.NoError(t, err)
	require.NoError(t, schema.Check(t.Context(), d.pool))
	require.Equal(t, rows, d.rows())
}

// upgradeBeyond takes the schema one version further than this program knows, as a later one would.
func (d *database) upgradeBeyond() fs.FS {
	d.Helper()
	newer := fstest.MapFS{fmt.Sprintf("%05d_add_notes.sql", latest+1): {Data: []byte(`
-- +goose Up
ALTER TABLE etl_job_records ADD COLUMN notes text;
-- +goose Down
ALTER TABLE etl_job_records DROP COLUMN notes;`)}}
	names, err := fs.Glob(migrations.FS, "*.sql")
	require.NoError(d, err)
	for _, name := range names {
		data, err := fs.ReadFile(migrations.FS, name)
		require.NoError(d, err)
		newer[name] = &fstest.MapFile{Data: data}
	}
	_, err = d.provider(newer).Up(d.Context())
	require.NoError(d, err)
	return newer
}
