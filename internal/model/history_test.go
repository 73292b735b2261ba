package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"fencepost/internal/job"
	"fencepost/internal/model"
	"fencepost/internal/pgtest"
)

// remoteVariable makes the test program an actor on the database at its URL, and nothing else.
const remoteVariable = "FENCEPOST_MODEL_DATABASE_URL"

// adminVariable is the URL of the same database for somebody who may do everything.
const adminVariable = "FENCEPOST_MODEL_ADMIN_URL"

// historiesByDefault is how many histories each of the two tests plays, unless -rapid.checks says otherwise.
const historiesByDefault = "500"

func TestMain(m *testing.M) {
	if url := os.Getenv(remoteVariable); url != "" {
		if err := actFor(os.Stdin, os.Stdout, url, os.Getenv(adminVariable)); err != nil {
			panic(err)
		}
		return
	}
	if err := flag.Set("rapid.checks", historiesByDefault); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

func TestHistoriesOfManyGoroutinesHaveAnExplanation(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.URL(t))
	rapid.Check(t, func(rt *rapid.T) { s.check(rt, drawPlan.Draw(rt, "plan")) })
}

func TestHistoriesOfTwoProcessesHaveAnExplanation(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := newStage(t, url)
	s.remote = startRemote(t, url)
	rapid.Check(t, func(rt *rapid.T) { s.check(rt, drawPlan.Draw(rt, "plan")) })
}

// stage is a database on which one history after the other is played, each by an owner of its own.
type stage struct {
	*system
	remote *remote // nil when there is no second process
}

func newStage(t *testing.T, url string) *stage {
	t.Helper()
	s, err := newSystem(t.Context(), url, pgtest.Superuser(t, url))
	require.NoError(t, err)
	t.Cleanup(s.close)
	return &stage{system: s}
}

func (s *stage) check(t *rapid.T, p plan) {
	h, err := s.play(context.Background(), p)
	if err != nil {
		t.Fatalf("%v\n%+v", err, h)
	}
	if err := model.Check(h); err != nil {
		t.Fatal(err)
	}
}

// play runs all actors of a plan at once, looks at every job when they have ended, and clears the database.
func (s *stage) play(ctx context.Context, p plan) (model.History, error) {
	owner := job.OwnerOf(uuid.NewString())
	h := model.History{MaxAttempts: maxAttempts, Cut: p.Cuts > 0}
	actors := make([]*actor, len(p.Actors))
	var group errgroup.Group
	for i, steps := range p.Actors {
		actors[i] = &actor{system: s.system, number: i, owner: owner}
		group.Go(func() error { return actors[i].run(ctx, steps) })
	}
	for range p.Cuts {
		group.Go(func() error { return s.cut(ctx) })
	}
	if s.remote != nil {
		group.Go(func() error {
			events, err := s.remote.act(task{Number: len(actors), Owner: owner, Steps: p.Remote})
			h.Events = append(h.Events, events...)
			return err
		})
	}
	err := group.Wait()
	for _, a := range actors {
		h.Events = append(h.Events, a.events...)
	}
	if h.Cut {
		s.owners.Reset() // connections that were cut and not used again
	}
	last, lastErr := s.lookAtEveryJob(ctx, owner)
	h.Events = append(h.Events, last...)
	_, clearErr := s.admin.Exec(ctx, `WITH data AS (DELETE FROM processed_data), ledger AS (DELETE FROM etl_idempotency_records),
		attempts AS (DELETE FROM etl_job_attempts) DELETE FROM etl_job_records`)
	return h, errors.Join(err, lastErr, clearErr)
}

// cut ends one of the owner's connections, whatever it is doing.
func (s *stage) cut(ctx context.Context) error {
	conn, err := s.owners.Acquire(ctx)
	if err != nil {
		return err
	}
	pid := conn.Conn().PgConn().PID()
	conn.Release()
	_, err = s.admin.Exec(ctx, "SELECT pg_terminate_backend($1)", pid)
	return err
}

// lookAtEveryJob reads and inspects each job of the owner.
func (s *stage) lookAtEveryJob(ctx context.Context, owner job.Owner) ([]model.Event, error) {
	rows, _ := s.workers.Query(ctx, "SELECT job_record_id FROM etl_job_records") // the rows carry the error
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	watcher := &actor{system: s.system, number: -1, owner: owner}
	for _, id := range ids {
		err = errors.Join(err, watcher.read(ctx, id), watcher.inspect(ctx, id))
	}
	return watcher.events, err
}

// task is what an actor in another process is told to do.
type task struct {
	Number int
	Owner  job.Owner
	Steps  []planned
}

// remote is an actor in another process: tasks go in and events come out, as JSON.
type remote struct {
	tasks  *json.Encoder
	events *json.Decoder
}

func startRemote(t *testing.T, url string) *remote {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	process := exec.Command(self)
	process.Env = append(os.Environ(), remoteVariable+"="+url, adminVariable+"="+pgtest.Superuser(t, url))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	require.NoError(t, err)
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, process.Wait())
	})
	return &remote{json.NewEncoder(in), json.NewDecoder(out)}
}

func (r *remote) act(task task) ([]model.Event, error) {
	if err := r.tasks.Encode(task); err != nil {
		return nil, err
	}
	var events []model.Event
	return events, r.events.Decode(&events)
}

// actFor is the other process: it takes tasks until there are no more.
func actFor(tasks io.Reader, events io.Writer, url, adminURL string) error {
	s, err := newSystem(context.Background(), url, adminURL)
	if err != nil {
		return err
	}
	defer s.close()
	in, out := json.NewDecoder(tasks), json.NewEncoder(events)
	for {
		var t task
		if err := in.Decode(&t); err != nil {
			return nil // the end of the tasks
		}
		a := &actor{system: s, number: t.Number, owner: t.Owner}
		if err := errors.Join(a.run(context.Background(), t.Steps), out.Encode(a.events)); err != nil {
			return err
		}
	}
}
