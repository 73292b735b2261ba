package graph_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGraphQLJSReadsEveryDocumentTheSameWay(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.newChain("a")
	s.newChain("b")
	s.cancelledJob("c")
	s.newJob("d")
	lines := strings.Split(strings.TrimSpace(node(t, "oracle.mjs", s.url, "1", "600")), "\n")
	var seen struct{ Answered, Partly, Refused, TooComplex int }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &seen))
	// The documents are worth something only if all kinds are among them.
	require.Greater(t, seen.Answered, 200)
	require.Greater(t, seen.Refused, 100)
	require.Positive(t, seen.Partly)
	require.Less(t, seen.TooComplex, 60)
}
