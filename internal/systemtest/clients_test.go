package systemtest

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
)

// clients is where the programs are that speak GraphQL through libraries of others.
const clients = "../../graph/clients"

// failingLoad refuses the records with the id "refused".
const failingLoad = `SELECT 1 / (CASE record ->> 'id' WHEN 'refused' THEN 0 ELSE 1 END) FROM jsonb_array_elements(@records::jsonb) AS record`

// TestCommonClientsTellTheStory fails without the programs: `npm ci` in the folder installs them.
func TestCommonClientsTellTheStory(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(filepath.Join(clients, "node_modules"))
	require.NoError(t, err, "run `npm ci --ignore-scripts` in graph/clients first")
	load := filepath.Join(t.TempDir(), "load.sql")
	require.NoError(t, os.WriteFile(load, []byte(failingLoad), 0o600))
	p := serve(t, pgtest.URL(t), loading(load))
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	programs := map[string]*exec.Cmd{"genqlient": exec.CommandContext(t.Context(), "go", "run", ".")}
	programs["genqlient"].Dir = filepath.Join(clients, "genqlient") // a module of its own
	generate := exec.CommandContext(t.Context(), "go", "generate")
	generate.Dir = programs["genqlient"].Dir
	output, err := generate.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, client := range []string{"apollo", "urql", "graphql-request", "graphql-ws", "graphql-sse"} {
		programs[client] = exec.CommandContext(t.Context(), "node", "story.mjs", client)
		programs[client].Dir = clients
	}
	for client, program := range programs {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			program.Args = append(program.Args, p.API+"/graphql", credentials)
			output, err := program.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), client+" has told the story")
		})
	}
}
