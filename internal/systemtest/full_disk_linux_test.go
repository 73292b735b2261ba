package systemtest

import (
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fencepost/internal/localpg"
	"fencepost/internal/pgtest"
	"fencepost/internal/server"
	"fencepost/internal/servertest"
)

// smallDisk names the folder at which a process of the tests has mounted a disk of its own.
const smallDisk = "FENCEPOST_TEST_SMALL_DISK"

// mountSmallDisk mounts a file system that only this process and its children see, and that ends with them.
func mountSmallDisk(t *testing.T) {
	t.Helper()
	require.NoError(t, unix.Mount("tmpfs", os.Getenv(smallDisk), "tmpfs", 0, "size=200m,mode=755"))
}

// onSmallDisk runs the test that calls it again, in a process with a small disk for its temporary files. A user other than
// root may mount in a user namespace.
func onSmallDisk(t *testing.T) {
	t.Helper()
	dir := filepath.Dir(pgtest.DataDir(t))
	binDir, err := localpg.Find(os.Getenv("FENCEPOST_TEST_POSTGRES_BIN"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), smallDisk+"="+dir, "TMPDIR="+dir, "FENCEPOST_TEST_POSTGRES_BIN="+binDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "--- PASS: "+t.Name())
}

// fillDisk takes all the space that is left, until the file is removed.
func fillDisk(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(os.Getenv(smallDisk), "ballast")
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.Copy(f, rand.Reader)
	require.ErrorIs(t, err, syscall.ENOSPC)
	return file
}

// largeBatch is a batch that neither fits into a page that PostgreSQL has already, nor can be compressed to do so.
func largeBatch() string {
	var b strings.Builder
	for range 20_000 {
		b.WriteString(rand.Text())
	}
	return `[{"id":"large","text":"` + b.String() + `"}]`
}

// beginWALSegment makes PostgreSQL write to a new file of its log, which has its full length from the start. When there is
// no space for the next one PostgreSQL stops, and that is another outage.
func beginWALSegment(t *testing.T, url string) {
	t.Helper()
	pool := pgtest.SuperuserPool(t, url)
	for _, statement := range []string{"SELECT pg_switch_wal()", "CREATE TABLE first_in_its_segment ()"} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

func TestFullDiskRefusesWritesAndKeepsJobsUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	if os.Getenv(smallDisk) == "" {
		onSmallDisk(t)
		return
	}
	mountSmallDisk(t)
	database := pgtest.Server(t)
	url := database.URL()
	p := serve(t, url, withoutWorkers)
	work := func() *process {
		return servertest.Work(t, url, func(c *server.WorkerConfig) {
			c.Worker.MaxAttempts, c.Worker.LeaseDuration = 100, 2*time.Second
			c.Worker.RetryBackoff, c.Worker.PollInterval = 100*time.Millisecond, 100*time.Millisecond
		})
	}
	first := work()
	requireSuccess(t, p.Submit(t, "small")) // now each index has its first page, and a claim needs no space
	require.NoError(t, first.End())
	_, err := pgtest.SuperuserPool(t, url).Exec(t.Context(), `INSERT INTO etl_job_attempts (principal_scope_hash, job_record_id, attempt_number,
		attempt_outcome, started_at) SELECT principal_scope_hash, job_record_id, 1, 'retried', created_at FROM etl_job_records`)
	require.NoError(t, err) // as above
	batch := largeBatch()
	accepted := call(t, http.MethodPost, p.API+"/api/etl/jobs", batch, "Idempotency-Key", "before")
	require.Equal(t, http.StatusAccepted, accepted.Status, "%s", accepted.Body)
	job := p.API + accepted.Header.Get("Location")
	beginWALSegment(t, url)
	file := fillDisk(t)

	w := work()
	for _, a := range callAll(t, "meanwhile", request{http.MethodPost, p.API + "/api/etl/jobs", batch}) {
		requireUnavailable(t, a, "full disk")
	}
	pgtest.Eventually(t, "an attempt to be retried", func() bool {
		return w.Counted(t, `fencepost_worker_outcomes_total{outcome="retried"}`) != "0"
	})
	require.Contains(t, []string{"PENDING", "RUNNING"}, status(t, job), "reads are answered")
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.API+"/livez", "").Status)

	require.NoError(t, os.Remove(file))
	requireSuccess(t, job)
	again := call(t, http.MethodPost, p.API+"/api/etl/jobs", batch, "Idempotency-Key", "meanwhile")
	require.Equal(t, http.StatusAccepted, again.Status, "%s", again.Body)
	requireSuccess(t, p.API+again.Header.Get("Location"))
	require.Empty(t, pgtest.WrongRows(t, url), "the rows that are wrong")
	requireSecrecy(t, w, string(again.Body), batch[100:200], "No space left")
}
