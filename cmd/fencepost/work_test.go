package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

func TestWorkRunsTheJobsOfAServerWithoutWorkers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	server := servertest.Serve(t, url, servertest.WithoutWorkers)
	job := server.Submit(t, "elsewhere")
	require.Equal(t, "PENDING", servertest.Status(t, job))

	w := start(t, env{"FENCEPOST_DATABASE_URL": url}, "work", "--admin-listen", "127.0.0.1:0")
	servertest.RequireSuccess(t, job)
	require.Equal(t, "1", (&servertest.Process{Admin: w.Admin}).Counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, "0", server.Counted(t, `fencepost_jobs_ended_total{status="SUCCEEDED"}`))
	require.Equal(t, 0, w.end().code)
}

func TestWorkRefusesADatabaseThatItCannotUse(t *testing.T) {
	t.Parallel()
	require.Contains(t, refused(t, "work"), "--database-url or FENCEPOST_DATABASE_URL")
	require.Contains(t, refused(t, "work", "--database-url", unreachable), "cannot be reached")
	require.Contains(t, refused(t, "work", "--database-url", pgtest.EmptyURL(t)), "fencepost migrate up")
	require.Contains(t, refused(t, "work", "--workers=0"), "must be from 1 to 256")
}
