package worker

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestLoadErrorShowsItsCodeAndHidesItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret")
	err := NewLoadError(job.FailureTarget, FaultOfJob, cause)
	require.EqualError(t, err, "etl_target_failure")
	require.ErrorIs(t, err, cause)
}
