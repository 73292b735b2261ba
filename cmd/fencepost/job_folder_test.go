package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// submitFolder runs the example script with this test binary as fencepost.
func submitFolder(t *testing.T, e env, args ...string) outcome {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "fencepost")))
	cmd := exec.CommandContext(t.Context(), "../../examples/folder/submit-folder.sh", args...)
	cmd.Env = []string{runMain + "=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "GOCOVERDIR=" + bin}
	for name, value := range e {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		_, exited := errors.AsType[*exec.ExitError](err)
		require.True(t, exited, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
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
	p := serve(t, url, "--load-sql-file", write(t, "load.sql", untilLoad, 0o600))
	for range 2 { // the second time finds everything done
		o := submitFolder(t, p.env(), folder, "2")
		require.Equal(t, 1, o.code, o.stderr)
		require.Contains(t, o.stderr, "not loaded: "+folder+"/invalid.json\nnot loaded: "+folder+"/hopeless.json\n")
		require.Equal(t, 2, strings.Count(o.stdout, "a flaky.json is replayed as"))
		require.Equal(t, []string{"0 FAILED 2", "0 SUCCEEDED 1", "1 FAILED 2", "2 FAILED 1", "2 SUCCEEDED 1"}, generations(t, url))
	}
}

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
	p := serve(t, url, "--workers=0")
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(orders))) // as the script makes it
	p.prints(t, "cancel", p.id(t, "submit", filepath.Join(folder, "stopped.json"), "--idempotency-key", key))
	o := submitFolder(t, p.env(), folder)
	require.Equal(t, 1, o.code, o.stderr)
	require.Equal(t, []string{"0 CANCELLED 1"}, generations(t, url))
}

func TestFolderEndsWithTheTroubleThatConcernsEveryFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.json"), []byte(orders), 0o600))
	p := serve(t, pgtest.URL(t), "--workers=0")
	e := p.env()
	e["FENCEPOST_PASSWORD"] = "a wrong password"
	require.Equal(t, exitCredentials, submitFolder(t, e, folder).code)
	require.Equal(t, 0, submitFolder(t, e, t.TempDir()).code, "an empty folder is loaded")
}
