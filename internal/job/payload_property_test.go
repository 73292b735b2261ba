package job_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
)

func TestAValidBatchIsNeverRefusedAndAlwaysHeldByPostgreSQL(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	rapid.Check(t, func(r *rapid.T) {
		batch := validBatch().Draw(r, "batch")
		assert.Empty(r, verdict(batch))
		assert.True(r, held(t, pool, batch))
		assert.Equal(r, written(t, pool, batch), job.Written(batch))
	})
}

func TestABatchIsAsLongAsPostgreSQLWritesIt(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	batches := append(acceptedBatches(), "[]", ` [ [ ] , { } , [ 1 , [ ] ] ] `, `["\u0001\u001f\u0022\u005c\u002f\u007f\u00e9\b\f\n\r\t"]`)
	for number, accepted := range numbers() {
		if accepted {
			batches = append(batches, "["+number+"]", `[{"n":-`+strings.TrimPrefix(number, "-")+`}]`)
		}
	}
	for _, batch := range batches {
		assert.Equal(t, written(t, pool, batch), job.Written(batch), "%.60s", batch)
	}
}

func TestPostgreSQLHoldsWhatIsAcceptedAndNotWhatIsSaidToBeBeyondIt(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, batch := range acceptedBatches() {
		assert.True(t, held(t, pool, batch), batch)
	}
	for _, batch := range batchesBeyondJSONB() {
		assert.False(t, held(t, pool, batch), batch)
	}
	for number, fits := range numbers() {
		assert.True(t, !fits || held(t, pool, "["+number+"]"), "%.40s", number)
	}
}

// held asks the server whether jsonb holds a text.
func held(t *testing.T, pool *pgxpool.Pool, text string) bool {
	_, err := pool.Exec(t.Context(), `SELECT $1::text::jsonb`, text)
	return err == nil
}

// written asks the server how long jsonb is as text.
func written(t *testing.T, pool *pgxpool.Pool, text string) (length int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT octet_length($1::text::jsonb::text)`, text).Scan(&length))
	return length
}

// FuzzParsePayload checks any text against encoding/json: what is accepted is an array of that many objects, kept as it
// is, and what is refused for its records alone is JSON.
func FuzzParsePayload(f *testing.F) {
	for _, texts := range batchesByVerdict() {
		for _, text := range texts {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		payload, err := job.ParsePayload(text, testLimits)
		var records []map[string]json.RawMessage
		switch {
		case err == nil:
			require.NoError(t, json.Unmarshal(text, &records))
			assert.Len(t, records, payload.RecordCount)
			assert.Equal(t, text, payload.Bytes)
		case err.Error() != string(job.CodeInvalidJSON):
			assert.Contains(t, []job.Code{job.CodeInvalidRecord, job.CodeBatchTooLarge, job.CodePayloadTooLarge}, verdict(string(text)))
			assert.True(t, json.Valid(text))
		}
	})
}
