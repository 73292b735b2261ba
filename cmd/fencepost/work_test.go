package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

func TestWorkRunsTheJobsOfAServerWithoutWorkers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	server := serve(t, url, "--workers=0")
	job := server.submit(t, "elsewhere")
	require.Equal(t, "PENDING", status(t, job))

	w := start(t, env{"FENCEPOST_DATABASE_URL": url}, workIsReady, "work", "--admin-listen", "127.0.0.1:0")
	requireSuccess(t, job)
	require.Equal(t, "1", w.counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, "0", server.counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, 0, w.end().code)
}

func TestWorkRefusesADatabaseThatItCannotUse(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "work"), "--database-url or FENCEPOST_DATABASE_URL")
	require.Contains(t, refused(t, "work", "--database-url", unreachable), "connect")
	require.Contains(t, refused(t, "work", "--database-url", pgtest.EmptyURL(t)), "fencepost migrate up")
	require.Contains(t, refused(t, "work", "--workers=0"), "must be from 1 to 256")
}
