package systemtest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/server"
)

// listed are the paths of reads that a replica may serve, and that name the job.
var listed = []string{"/api/etl/jobs", "/api/etl/jobs/{id}/lineage", "/api/etl/jobs/{id}/provenance"}

func TestListsAndLineagesGoToTheReplicaWhileItIsThere(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t)
	replica := primary.Replica(t)
	p := serve(t, primary.URL(), withoutWorkers, func(c *server.Config) { c.ReplicaURL = replica.URL() })
	id := filepath.Base(p.Submit(t, "key"))
	readAll := func() {
		for _, path := range listed {
			a := call(t, http.MethodGet, p.API+strings.ReplaceAll(path, "{id}", id), "")
			require.Equal(t, http.StatusOK, a.Status, path)
			require.Contains(t, string(a.Body), id, "the job that was just made")
		}
	}
	count := func(outcome string) string {
		return p.Counted(t, fmt.Sprintf("fencepost_replica_reads_total{outcome=%q}", outcome))
	}
	pgtest.Eventually(t, "the replica to serve", func() bool { readAll(); return count("served") > "3" })

	served := count("served")
	require.Equal(t, "PENDING", status(t, p.API+"/api/etl/jobs/"+id))
	require.Equal(t, served, count("served"), "a single job is read from the primary")

	replica.Crash(t)
	pgtest.Eventually(t, "the replica to rest", func() bool { readAll(); return count("failed") != "0" && count("resting") != "0" })
}
