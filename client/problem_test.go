package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/client"
	"fencepost/internal/job"
	"fencepost/jobtype"
)

func TestProblemTellsWhatToDoAndItsCode(t *testing.T) {
	t.Parallel()
	p := client.Problem{Code: "etl_job_not_found", Status: 404, Title: "Job not found", Detail: "There is no such job."}
	require.EqualError(t, &p, "Job not found: There is no such job. (etl_job_not_found)")
	require.EqualError(t, &client.Problem{Status: 599}, "status 599")
}

// Every code that asks for the same key again, and no other, is one that the client repeats by itself. An internal error
// is not repeated, since it seldom passes.
func TestEveryTemporaryProblemIsKnown(t *testing.T) {
	t.Parallel()
	temporary := map[client.Code]bool{
		jobtype.CodeSubmissionInProgress:   true,
		jobtype.CodeCancellationInProgress: true,
		jobtype.CodeReplayInProgress:       true,
		jobtype.CodeRateLimited:            true,
		jobtype.CodeDatabaseUnavailable:    true,
	}
	for _, d := range job.Definitions() {
		p := client.Problem{Code: d.Code, Status: d.Status}
		require.Equal(t, temporary[p.Code], p.Temporary(), d.Code)
	}
}
