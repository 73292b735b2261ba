package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/source"
)

func TestStatementsAreTheProducts(t *testing.T) {
	t.Parallel()
	statements, err := source.Read("../../../internal/postgres")
	require.NoError(t, err)
	for _, name := range []string{"cancelSQL", "jobSQL", "jobsSQL", "listSQL", "lineageSummarySQL", "lineagePageSQL", "submitSQL"} {
		require.Contains(t, statements[name], "etl_job_records", name)
	}
	sql, err := statements.Get("jobsSQL", "'owner'", "ARRAY['id']")
	require.NoError(t, err)
	require.Contains(t, sql, "WHERE principal_scope_hash = ('owner') AND job_record_id = ANY ((ARRAY['id']))")
}

func TestConstantsAreEvaluated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const code = "package p\nimport \"no/such/package\"\nconst columns = `a, b`\nconst q = `SELECT ` + columns + ` WHERE c = $1`\nvar _ = nosuch.X"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600))
	statements, err := source.Read(dir)
	require.NoError(t, err)
	sql, err := statements.Get("q", "1")
	require.NoError(t, err)
	require.Equal(t, "SELECT a, b WHERE c = (1)", sql)

	_, err = statements.Get("q")
	require.ErrorContains(t, err, "more parameters than 0")
	_, err = statements.Get("absent")
	require.ErrorContains(t, err, "no statement")
}
