package storetest

import (
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// Exec runs plain SQL, with all rights.
func (w *World) Exec(sql string, args ...any) error {
	_, err := w.Admin.Exec(w.Context(), sql, args...)
	return err
}

// MustExec is [World.Exec] of what does not fail.
func (w *World) MustExec(sql string, args ...any) {
	w.Helper()
	require.NoError(w, w.Exec(sql, args...))
}

// Count counts the rows of a table or a query's FROM part.
func (w *World) Count(from string, args ...any) int {
	w.Helper()
	var n int
	require.NoError(w, w.Admin.QueryRow(w.Context(), "SELECT count(*) FROM "+from, args...).Scan(&n))
	return n
}

// Row is a job's whole row as text, to see whether anything at all changed.
func (w *World) Row(id uuid.UUID) string {
	w.Helper()
	var text string
	require.NoError(w, w.Admin.QueryRow(w.Context(),
		"SELECT etl_job_records::text FROM etl_job_records WHERE job_record_id = $1", id).Scan(&text))
	return text
}

// Expire moves a running job's lease into the past.
func (w *World) Expire(id uuid.UUID) {
	w.Helper()
	w.MustExec("UPDATE etl_job_records SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE job_record_id = $1", id)
}

// RequireNoEffects checks that nothing of a job remains in target and ledger.
func (w *World) RequireNoEffects(id uuid.UUID) {
	w.Helper()
	require.Zero(w, w.Count("processed_data WHERE job_record_id = $1", id), "effects")
	require.Zero(w, w.Count("etl_idempotency_records WHERE job_record_id = $1", id), "ledger rows")
}

// RequireEffectsOnce checks that the batch was loaded exactly once.
func (w *World) RequireEffectsOnce(id uuid.UUID) {
	w.Helper()
	require.Equal(w, 2, w.Count("processed_data WHERE job_record_id = $1", id), "effects")
	require.Equal(w, 1, w.Count("etl_idempotency_records WHERE job_record_id = $1", id), "ledger rows")
}

// RequireBooksBalance says which rows are wrong.
func (w *World) RequireBooksBalance() {
	w.Helper()
	require.Empty(w, pgtest.WrongRows(w, w.URL), "the rows that are wrong")
}
