package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/operation"
)

func TestAProfileHasItsOperationsAndNoOthers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"smoke": len(allOperations) + len(traced) + len(cliffs), "quick": len(allOperations),
		"full": len(allOperations) + len(traced) + len(curves) + len(cliffs), "cliffs": len(cliffs),
		"tracing": len(traced),
	} {
		profile, err := profileNamed(name)
		require.NoError(t, err)
		s := &suite{env: &operation.Env{Profile: profile}}
		require.Len(t, s.operations(), want, name)
	}
	_, err := profileNamed("huge")
	require.ErrorContains(t, err, "huge")
}
