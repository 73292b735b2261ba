package graph_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/graph"
	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/ratelimit"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	ann = job.OwnerOf("ann")
	bob = job.OwnerOf("bob")
)

// many is more streams than a test opens.
var many = feed.Limits{PerOwner: 1000, Total: 1000}

// limits are the defaults of the server.
var limits = job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000}

// server is a GraphQL endpoint over a database of its own, and what a test needs to look behind it.
type server struct {
	t       *testing.T
	url     string
	handler http.Handler
	pool    *pgxpool.Pool
	store   *postgres.Store
	service *job.Service
	feed    *feed.Hub
	log     *bytes.Buffer
}

// newServer starts an endpoint. Its requests are ann's unless they carry "As: bob", or "As: nobody".
func newServer(t *testing.T, change ...func(*graph.Config)) *server {
	t.Helper()
	return newServerOn(t, pgtest.Pool(t), change...)
}

func newServerOn(t *testing.T, pool *pgxpool.Pool, change ...func(*graph.Config)) *server {
	t.Helper()
	listen, err := db.ParseListen(pgtest.Direct(pool.Config().ConnString()))
	require.NoError(t, err)
	store := postgres.NewStore(pool, postgres.Config{LockTimeout: 100 * time.Millisecond, CallTimeout: patience, Listen: listen})
	t.Cleanup(store.Close)
	service := job.NewService(store, limits, job.Unobserved{}).WithReasons(storetest.Reasons(t))
	s := &server{t: t, pool: pool, store: store, service: service, log: &bytes.Buffer{}}
	config := graph.Config{
		Service:       s.service,
		Limiter:       ratelimit.New(ratelimit.Rates{}, time.Now),
		Feed:          feed.New(feed.Config{Limits: many}),
		WebSockets:    feed.NewQuota(many),
		Introspection: true,
		Log:           slog.New(slog.NewTextHandler(s.log, nil)),
	}
	for _, c := range change {
		c(&config)
	}
	s.feed = config.Feed
	s.handler = graph.NewHandler(config)
	s.url = serve(t, s.handler)
	return s
}

// serve puts a handler behind a stand-in for authentication that takes the header's word for it.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("As") {
		case "nobody":
		case "bob":
			r = r.WithContext(auth.WithOwner(r.Context(), bob))
		default:
			r = r.WithContext(auth.WithOwner(r.Context(), ann))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/graphql"
}

// answer is one HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request; headers are pairs of name and value.
func (s *server) send(method, url, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answer{status: response.StatusCode, header: response.Header, body: string(read)}
}

// tcp opens a connection to the endpoint.
func (s *server) tcp() net.Conn {
	s.t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/graphql")
	connection, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// raw writes bytes to a connection of its own, as no HTTP client would, and returns what comes back.
func (s *server) raw(request string) string {
	s.t.Helper()
	connection := s.tcp()
	go func() { _, _ = io.WriteString(connection, request) }() // the server may answer before it has read all
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(s.t, err)
	var dump strings.Builder
	require.NoError(s.t, response.Write(&dump))
	return dump.String()
}

// post sends a query with variables as a client does.
func (s *server) post(query string, variables map[string]any, headers ...string) answer {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(s.t, err)
	return s.send(http.MethodPost, s.url, string(body), append(headers, "Content-Type", "application/json")...)
}

// object is a JSON object whose parts a test names by a path.
type object map[string]any

// at follows member names, and indexes into arrays.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := value.(map[string]any)
			require.True(t, ok, "no object to take %q from: %v", step, value)
			value = members[step]
		case int:
			items, ok := value.([]any)
			require.True(t, ok && step < len(items), "no item %d in %v", step, value)
			value = items[step]
		}
	}
	return value
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var parsed map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &parsed), a.body)
	return parsed
}

// data runs a query that must not meet an error.
func (s *server) data(query string, variables map[string]any, headers ...string) map[string]any {
	s.t.Helper()
	got := s.post(query, variables, headers...)
	parsed := got.json(s.t)
	require.Nil(s.t, parsed["errors"], got.body)
	return parsed["data"].(map[string]any)
}
