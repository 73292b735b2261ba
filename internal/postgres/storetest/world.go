// Package storetest is what the tests of the store share: a database of their own with a service on it, jobs in every state, and
// the steps of a race. It is for tests alone.
package storetest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

// Patience is how long a test waits for something that normally happens at once. It only ends a test that hangs.
const Patience = time.Minute

// A World is a database of its own with a service on it, seen by one owner. The service is connected as the server's role.
type World struct {
	*testing.T
	// URL is the database's, as the server connects to it: perhaps through a pooler.
	URL string
	// Pool is for what tests do by hand: it is direct where the store's leads through a pooler.
	Pool *pgxpool.Pool
	// StorePool is the store's own.
	StorePool *pgxpool.Pool
	// Admin is connected as a superuser, for whatever the server may not do.
	Admin *pgxpool.Pool
	// Config is the store's.
	Config postgres.Config
	// Store is what is tested, and Service the core on top of it.
	Store   *postgres.Store
	Service *job.Service
	// Counter has what the service observed.
	Counter *Counter
	// Owner is who asks.
	Owner job.Owner
}

// New is a world on a new database.
func New(t *testing.T, options ...Option) *World {
	t.Helper()
	return On(t, pgtest.URL(t), options...)
}

// On is a world on a migrated database that is there.
func On(t *testing.T, url string, options ...Option) *World {
	t.Helper()
	listen, err := db.ParseListen(pgtest.Direct(url))
	require.NoError(t, err)
	config := postgres.Config{LockTimeout: time.Minute, CallTimeout: 70 * time.Second, Listen: listen}
	for _, o := range options {
		o(&config)
	}
	w := &World{
		T: t, URL: url, Pool: Open(t, pgtest.Direct(url)), StorePool: Open(t, url), Admin: pgtest.SuperuserPool(t, url),
		Config: config, Owner: job.OwnerOf("owner a"),
	}
	return w.On(w.StorePool)
}

// On is the same world with a store of its own on another pool.
func (w *World) On(pool *pgxpool.Pool) *World {
	w.Helper()
	store := postgres.NewStore(pool, w.Config)
	w.Cleanup(store.Close)
	other := *w
	other.StorePool, other.Store = pool, store
	other.Counter = &Counter{Ended: map[job.Status]int{}, Created: map[int]int{}, Replayed: map[job.Operation]int{}}
	other.Service = job.NewService(store, job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000}, other.Counter).
		WithReasons(Reasons(w))
	return &other
}

// Reasons are wrong_batch and superseded.
func Reasons(t testing.TB) job.Reasons {
	t.Helper()
	reasons, err := job.ParseReasons("wrong_batch,superseded")
	require.NoError(t, err)
	return reasons
}

// Open makes a pool on a database, closed when the test ends.
func Open(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := db.Open(t.Context(), url, 20)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// An Option changes the store's configuration.
type Option func(*postgres.Config)

// WithLoad makes jobs run a statement instead of the built-in load.
func WithLoad(t testing.TB, sql string) Option {
	load, err := postgres.NewLoad(sql)
	require.NoError(t, err)
	return func(c *postgres.Config) { c.Load = load }
}

// WithLockTimeout sets how long a write waits for a row.
func WithLockTimeout(d time.Duration) Option { return func(c *postgres.Config) { c.LockTimeout = d } }

// BuiltinLoad is the text of the built-in load as an operator would write it.
func BuiltinLoad() string {
	load := statements.Named("load")
	return strings.NewReplacer(parameters(load)...).Replace(load.SQL)
}

// parameters are pairs of a parameter's place and its name.
func parameters(s statements.Statement) (pairs []string) {
	for i, name := range s.Params {
		pairs = append(pairs, "$"+string(rune('1'+i)), "@"+name)
	}
	return pairs
}

// ForEachExecution runs a test with executions that share statements, and with such that do not, as those of an operator's load.
func ForEachExecution(t *testing.T, test func(w *World)) {
	t.Helper()
	for name, options := range map[string][]Option{"shared": nil, "alone": {WithLoad(t, BuiltinLoad())}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(New(t, options...))
		})
	}
}

// SharesExecutions tells whether executions share statements.
func (w *World) SharesExecutions() bool { return w.Config.Load == postgres.Load{} }

// A Counter counts what the service observed.
type Counter struct {
	mu       sync.Mutex
	Ended    map[job.Status]int
	Created  map[int]int
	Replayed map[job.Operation]int
}

// JobEnded implements [job.Observer].
func (c *Counter) JobEnded(s job.Status) { c.mu.Lock(); c.Ended[s]++; c.mu.Unlock() }

// JobCreated implements [job.Observer].
func (c *Counter) JobCreated(generation int) { c.mu.Lock(); c.Created[generation]++; c.mu.Unlock() }

// IdempotentReplay implements [job.Observer].
func (c *Counter) IdempotentReplay(op job.Operation) { c.mu.Lock(); c.Replayed[op]++; c.mu.Unlock() }
