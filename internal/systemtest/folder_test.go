package systemtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

// submitFolder runs the example script with the built program.
func submitFolder(t *testing.T, p *process, args ...string) outcome {
	t.Helper()
	return runProgram(t, append(asUser(p), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH")),
		"../../examples/folder/submit-folder.sh", args...)
}

// untilLoad fails each job until the generation that its first record names.
const untilLoad = `
SELECT 1 / count(*) FROM etl_job_records
WHERE job_record_id = @job_record_id::uuid
	AND coalesce(replay_generation_count, 0) >= coalesce((@records::jsonb -> 0 ->> 'until')::int, 0)`

func TestFolderIsLoadedWithReplaysAndOnlyOnce(t *testing.T) {
	t.Parallel()
	url, folder := pgtest.URL(t), t.TempDir()
	for file, text := range map[string]string{
		"good.json":     `[{"id":"a"}]`,
		"a flaky.json":  `[{"id":"a","until":2}]`,
		"hopeless.json": `[{"id":"a","until":99}]`,
		"invalid.json":  `{}`,
		"ignored.txt":   `[]`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
	}
	p := serve(t, url, loading(servertest.File(t, "load.sql", untilLoad, 0o600)))
	for range 2 { // the second time finds everything done
		o := submitFolder(t, p, folder, "2")
		require.Equal(t, 1, o.code, o.stderr)
		require.Contains(t, o.stderr, "not loaded: "+folder+"/invalid.json\nnot loaded: "+folder+"/hopeless.json\n")
		require.Equal(t, 2, strings.Count(o.stdout, "a flaky.json is replayed as"))
		require.Equal(t, []string{"0 FAILED 2", "0 SUCCEEDED 1", "1 FAILED 2", "2 FAILED 1", "2 SUCCEEDED 1"}, generations(t, url))
	}
}

const orders = `[{"id":"order-1"},{"id":"order-2"}]`

// generations counts the jobs by generation and status.
func generations(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', coalesce(replay_generation_count, 0), job_status, count(*)) FROM etl_job_records
		GROUP BY coalesce(replay_generation_count, 0), job_status
		ORDER BY coalesce(replay_generation_count, 0), job_status`)
	require.NoError(t, err)
	counts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return counts
}

func TestFolderLeavesACancelledJobAlone(t *testing.T) {
	t.Parallel()
	url, folder := pgtest.URL(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "stopped.json"), []byte(orders), 0o600))
	p := serve(t, url, withoutWorkers)
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(orders))) // as the script makes it
	accepted := call(t, http.MethodPost, p.API+"/api/etl/jobs", orders, "Idempotency-Key", key)
	location := p.API + accepted.Header.Get("Location")
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, location+"/cancellation", "", "Idempotency-Key", "stop").Status)
	o := submitFolder(t, p, folder)
	require.Equal(t, 1, o.code, o.stderr)
	require.Equal(t, []string{"0 CANCELLED 1"}, generations(t, url))
}

func TestFolderEndsWithTheTroubleThatConcernsEveryFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.json"), []byte(orders), 0o600))
	p := serve(t, pgtest.URL(t), withoutWorkers)
	require.Equal(t, 0, submitFolder(t, p, t.TempDir()).code, "an empty folder is loaded")
	users := servertest.UsersFile(t, name, "another password")
	stranger := serve(t, pgtest.URL(t), withoutWorkers, func(c *server.Config) { c.Site.UsersFile = users })
	const wrongCredentials = 3
	require.Equal(t, wrongCredentials, submitFolder(t, stranger, folder).code)
}
