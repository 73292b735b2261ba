package webui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/ratelimit"
	"fencepost/internal/webui"
	"fencepost/internal/worker"
	"fencepost/rest"
)

const (
	user     = "ann"
	password = "a password of ann"
	batch    = `[{"id": "first"}, {"id": "second"}]`
)

var ann = job.OwnerOf(user)

// server is the whole server but its workers, so that jobs only change when a test says so.
type server struct {
	*testing.T
	url     string
	pool    *pgxpool.Pool
	store   *postgres.Store
	service *job.Service
	keys    int
}

func newServer(t *testing.T) *server {
	t.Helper()
	pool := pgtest.Pool(t)
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: time.Minute, CallTimeout: time.Minute})
	t.Cleanup(store.Close)
	service := job.NewService(store, job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000}, job.Unobserved{})
	s := &server{T: t, pool: pool, store: store, service: service}
	listener := httptest.NewServer(s.handler())
	t.Cleanup(listener.Close)
	s.url = listener.URL
	return s
}

func (s *server) handler() http.Handler {
	s.Helper()
	usersFile := filepath.Join(s.TempDir(), "users")
	require.NoError(s, auth.Add(usersFile, user, password))
	users, err := auth.Open(usersFile, auth.Options{})
	require.NoError(s, err)
	limiter := ratelimit.New(ratelimit.Rates{}, time.Now)
	restDoor := rest.New(rest.Config{
		Service: s.service, Authenticator: users, Limiter: limiter, Ready: func(context.Context) error { return nil },
	})
	graphDoor := graph.NewHandler(graph.Config{Service: s.service, Limiter: limiter, Feed: s.listen(), Introspection: true})
	pages := webui.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); {
		case path == "/graphql":
			users.Require(graphDoor, graph.Unauthenticated).ServeHTTP(w, r)
		case webui.Serves(path):
			users.Require(pages, webui.Unauthenticated).ServeHTTP(w, r)
		default:
			restDoor.ServeHTTP(w, r)
		}
	})
}

// listen starts to pass on the notices of the database.
func (s *server) listen() *feed.Hub {
	hub := feed.New(feed.Config{Limits: feed.Limits{PerOwner: 100, Total: 100}})
	ctx, stop := context.WithCancel(context.Background())
	var listener sync.WaitGroup
	listener.Go(func() { s.store.Listen(ctx, hub.Notify) })
	s.Cleanup(func() { stop(); listener.Wait() })
	return hub
}

func (s *server) key() job.Key {
	s.Helper()
	s.keys++
	key, err := job.ParseKey(fmt.Sprintf("key-%d", s.keys))
	require.NoError(s, err)
	return key
}

func (s *server) submit() string {
	s.Helper()
	accepted, err := s.service.Submit(s.Context(), ann, s.key(), []byte(batch))
	require.NoError(s, err)
	return accepted.Job.ID.String()
}

func (s *server) replay(source string) string {
	s.Helper()
	accepted, err := s.service.Replay(s.Context(), ann, source, s.key(), []byte(batch))
	require.NoError(s, err)
	return accepted.Job.ID.String()
}

func (s *server) cancel(id string) string {
	s.Helper()
	_, err := s.service.Cancel(s.Context(), ann, id, s.key(), "")
	require.NoError(s, err)
	return id
}

// claim leases the only job that waits.
func (s *server) claim() worker.Lease {
	s.Helper()
	claimed, err := s.store.Claim(s.Context(), worker.ClaimRequest{WorkerID: uuid.New(), Limit: 1, Duration: time.Hour, MaxAttempts: 3})
	require.NoError(s, err)
	require.Len(s, claimed.Leases, 1)
	return claimed.Leases[0]
}

func (s *server) succeeded() string {
	s.Helper()
	id := s.submit()
	require.NoError(s, s.store.Execute(s.Context(), s.claim()))
	return id
}

func (s *server) failed() string {
	s.Helper()
	id := s.submit()
	require.NoError(s, s.store.Fail(s.Context(), s.claim(), worker.Failure{Code: job.FailureTarget}))
	return id
}

// everyStatus is a failed job whose replays are in each of the other statuses. No other job may wait.
func (s *server) everyStatus() (root, pending string) {
	s.Helper()
	root = s.failed()
	s.replay(root)
	require.NoError(s, s.store.Execute(s.Context(), s.claim()))
	s.replay(root)
	s.claim()
	s.cancel(s.replay(root))
	return root, s.replay(root)
}

// chain is a lineage of 100 jobs, each replayed from the one before, and all cancelled.
func (s *server) chain() (last string) {
	s.Helper()
	last = s.cancel(s.submit())
	for range job.MaxGeneration - 1 {
		last = s.cancel(s.replay(last))
	}
	return last
}

const growTreeSQL = `
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, request_payload, record_count,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count)
SELECT principal_scope_hash, id, sha256(id::text::bytea), request_digest, $2, record_count,
	job_record_id, coalesce(replay_root_job_record_id, job_record_id), coalesce(replay_generation_count, 0) + 1
FROM etl_job_records, unnest($3::uuid[]) AS id
WHERE job_record_id = $1`

// endSQL ends jobs without a worker: of three, two have failed and one was cancelled.
const endSQL = `
UPDATE etl_job_records SET request_payload = NULL, attempt_count = 1,
	job_status = status,
	failure_code = CASE status WHEN 'FAILED' THEN 'etl_target_failure' END,
	cancellation_code = CASE status WHEN 'CANCELLED' THEN 'etl_job_cancelled_by_owner' END,
	cancellation_key_hash = CASE status WHEN 'CANCELLED' THEN submission_key_hash END,
	job_cancelled_at = CASE status WHEN 'CANCELLED' THEN now() END
FROM unnest($1::uuid[]) WITH ORDINALITY AS jobs (id, n),
	LATERAL (SELECT CASE n % 3 WHEN 0 THEN 'CANCELLED' ELSE 'FAILED' END) AS ending (status)
WHERE job_record_id = id`

// wideTree is a lineage of 2,000 jobs: 1,498 replays of the root, and 501 of one of those. It returns one of the latter.
func (s *server) wideTree() string {
	s.Helper()
	children := s.endedReplays(s.cancel(s.submit()), 1498)
	return s.endedReplays(children[699].String(), 501)[400].String()
}

func (s *server) endedReplays(source string, n int) []uuid.UUID {
	s.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	_, err := s.pool.Exec(s.Context(), growTreeSQL, source, []byte(batch), ids)
	require.NoError(s, err)
	_, err = s.pool.Exec(s.Context(), endSQL, ids)
	require.NoError(s, err)
	return ids
}
