package server

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/ratelimit"
	"fencepost/internal/worker"
)

// Config is what a process that serves needs to know. [Defaults] has all that can be left as it is.
type Config struct {
	// Database is where the jobs are. Without a URL a private PostgreSQL is started.
	Database Database
	// ReplicaURL names a hot standby of the database, for lists and lineages; empty means that there is none.
	ReplicaURL string
	// Site says where the users are, and the private PostgreSQL.
	Site Site
	// Public is where REST, GraphQL and the pages are served.
	Public Public
	// Admin is where metrics and profiles are served.
	Admin Admin
	// Limits bound a batch of records.
	Limits job.Limits
	// Reasons are what a cancellation may give as its reason.
	Reasons job.Reasons
	// Rates bound how often an owner may write.
	Rates ratelimit.Rates
	// Streams bound the subscriptions, and the WebSockets.
	Streams feed.Limits
	// Introspection lets GraphQL clients read the schema.
	Introspection bool
	// Worker says how jobs are run. With no workers this process runs none.
	Worker worker.Config
	// Runtime is what every process has.
	Runtime Runtime
}

// WorkerConfig is what a process that only runs jobs needs to know. [WorkerDefaults] has all that can be left as it is.
type WorkerConfig struct {
	// Database is where the jobs are. It needs a URL.
	Database Database
	// Admin is where metrics and profiles are served.
	Admin Admin
	// Worker says how jobs are run.
	Worker worker.Config
	// Runtime is what every process has.
	Runtime Runtime
}

// Database says where the jobs are and how they are loaded.
type Database struct {
	// URL names the PostgreSQL, as postgres://user:password@host:port/database.
	URL string
	// ListenURL names the same PostgreSQL without a pooler, for notices; empty means that URL is without one.
	ListenURL string
	// PoolSize is the most connections at once. It must be more than the workers.
	PoolSize int
	// LockTimeout is how long a request waits for a concurrent one.
	LockTimeout time.Duration
	// LoadSQLFile names the file of the statement that loads a job's records; empty means the built-in one.
	LoadSQLFile string
	// ExplainNames lets owners see the names of constraints that their records violate.
	ExplainNames bool

	private bool // this process has started it, so that its tables can only be made from now on
}

// Site says where a server keeps its users and, without a database URL, its data.
type Site struct {
	// UsersFile is the htpasswd file of the users. A private PostgreSQL has one of its own when this is empty.
	UsersFile string
	// DataDir is where a private PostgreSQL keeps its data; empty means the usual place for the user that runs the program.
	DataDir string
	// PostgresBin is the directory of PostgreSQL's programs; empty means that they are looked for.
	PostgresBin string
}

// Public says where clients are served.
type Public struct {
	// Address is what to listen on, as host:port.
	Address string
	// CertFile and KeyFile are the PEM files of the certificate chain and its key; without them the door is plain HTTP.
	CertFile, KeyFile string
}

// Admin says where metrics and profiles are served, which need no password.
type Admin struct {
	// Address is what to listen on, as host:port.
	Address string
	// AllowPlaintext lets the process listen without TLS where other machines can connect.
	AllowPlaintext bool
}

// Runtime is what a process gets from whoever starts it.
type Runtime struct {
	// Version is what metrics and traces say that the program was built from.
	Version string
	// Log receives the log lines.
	Log *slog.Logger
	// LookupEnv finds a variable of the environment, as [os.LookupEnv] does.
	LookupEnv func(name string) (value string, set bool)
}

// Defaults are the settings of a server for which nobody has chosen others.
func Defaults() Config {
	return Config{
		Database:      databaseDefaults(20),
		Public:        Public{Address: "127.0.0.1:8080"},
		Admin:         Admin{Address: "127.0.0.1:9090"},
		Limits:        job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000},
		Streams:       feed.Limits{PerOwner: 100, Total: 1000},
		Introspection: true,
		Worker:        jobDefaults(8),
	}
}

// WorkerDefaults are the settings of a worker for which nobody has chosen others.
func WorkerDefaults() WorkerConfig {
	return WorkerConfig{
		Database: databaseDefaults(40),
		Admin:    Admin{Address: "127.0.0.1:9091"},
		Worker:   jobDefaults(32),
	}
}

func databaseDefaults(poolSize int) Database {
	return Database{PoolSize: poolSize, LockTimeout: 2 * time.Second}
}

func jobDefaults(workers int) worker.Config {
	return worker.Config{
		Workers:       workers,
		LeaseDuration: time.Minute,
		PollInterval:  time.Second,
		MaxAttempts:   5,
		RetryBackoff:  time.Second,
		DrainTimeout:  30 * time.Second,

		ExplainTimeout: 5 * time.Second,
	}
}

// check finds what contradicts itself, before anything is opened.
func (c Config) check() error {
	return errors.Join(c.Public.check(c.Admin.AllowPlaintext), c.Admin.check(), checkPool(c.Database, c.Worker))
}

func (c WorkerConfig) check() error {
	return errors.Join(c.Admin.check(), checkPool(c.Database, c.Worker))
}

// checkPool leaves connections to the requests while every worker uses one.
func checkPool(d Database, w worker.Config) error {
	if d.PoolSize <= w.Workers {
		return errors.New("--pool-size must be more than --workers")
	}
	return nil
}

// callMargin is how much longer than the lock timeout one database call may take.
const callMargin = 5 * time.Second

func (d Database) storeConfig() (config postgres.Config, err error) {
	config = postgres.Config{LockTimeout: d.LockTimeout, CallTimeout: d.LockTimeout + callMargin, ExplainNames: d.ExplainNames}
	if d.ListenURL != "" {
		if config.Listen, err = db.ParseListen(d.ListenURL); err != nil {
			return config, fmt.Errorf("--listen-url: %w", err)
		}
	}
	if d.LoadSQLFile != "" {
		if config.Load, err = readLoad(d.LoadSQLFile); err != nil {
			return config, fmt.Errorf("--load-sql-file: %w", err)
		}
		config.Reload = func() (postgres.Load, error) { return readLoad(d.LoadSQLFile) }
	}
	return config, nil
}

func readLoad(path string) (postgres.Load, error) {
	sql, err := os.ReadFile(path)
	if err != nil {
		return postgres.Load{}, err
	}
	return postgres.NewLoad(string(sql))
}
