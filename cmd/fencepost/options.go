package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"fencepost/internal/feed"
	"fencepost/internal/job"
	"fencepost/internal/postgres"
	"fencepost/internal/postgres/db"
	"fencepost/internal/ratelimit"
	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
)

// callMargin is how much longer than the lock timeout one database call may take.
const callMargin = 5 * time.Second

// databaseOptions say where the jobs are and how they are loaded.
type databaseOptions struct {
	url         string
	replicaURL  string // of "serve" alone
	listenURL   string
	poolSize    int
	lockTimeout time.Duration
	loadSQLFile string
}

func (o *databaseOptions) register(flags *pflag.FlagSet, poolSize int) {
	*o = databaseOptions{poolSize: poolSize, lockTimeout: 2 * time.Second}
	registerDatabaseURL(flags, &o.url)
	flags.StringVar(&o.listenURL, "listen-url", "",
		"the same PostgreSQL without a pooler, for notices; needed where --database-url leads through one that shares sessions")
	integerFlag(flags, &o.poolSize, "pool-size", bounds[int]{2, 1000},
		"most database connections; must be more than --workers")
	durationFlag(flags, &o.lockTimeout, "lock-timeout", bounds[time.Duration]{10 * time.Millisecond, time.Minute},
		"how long a request waits for a concurrent one")
	flags.StringVar(&o.loadSQLFile, "load-sql-file", "",
		"statement that loads a job's records into your own tables, in place of processed_data")
}

func (o *databaseOptions) registerReplicaURL(flags *pflag.FlagSet) {
	flags.StringVar(&o.replicaURL, "replica-url", "",
		"hot standby of that PostgreSQL, for lists and lineages; without it, or when it lags, they are read from the other")
}

func registerDatabaseURL(flags *pflag.FlagSet, url *string) {
	flags.StringVar(url, "database-url", "", "PostgreSQL to use, as postgres://user:password@host:port/database")
}

func (o *databaseOptions) storeConfig() (config postgres.Config, err error) {
	config = postgres.Config{LockTimeout: o.lockTimeout, CallTimeout: o.lockTimeout + callMargin}
	if o.listenURL != "" {
		if config.Listen, err = db.ParseListen(o.listenURL); err != nil {
			return config, fmt.Errorf("--listen-url: %w", err)
		}
	}
	if o.loadSQLFile != "" {
		if config.Load, err = readLoad(o.loadSQLFile); err != nil {
			return config, fmt.Errorf("--load-sql-file: %w", err)
		}
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

// workerOptions say how this process runs jobs.
type workerOptions struct{ worker.Config }

func (o *workerOptions) register(flags *pflag.FlagSet, fewest, workers int) {
	o.Config = worker.Config{
		Workers:       workers,
		LeaseDuration: time.Minute,
		PollInterval:  time.Second,
		MaxAttempts:   5,
		RetryBackoff:  time.Second,
		DrainTimeout:  30 * time.Second,
	}
	usage := "jobs to run at once"
	if fewest == 0 {
		usage += "; with 0 this process runs none"
	}
	integerFlag(flags, &o.Workers, "workers", bounds[int]{fewest, 256}, usage)
	durationFlag(flags, &o.LeaseDuration, "lease-duration", bounds[time.Duration]{time.Second, 24 * time.Hour},
		"longest that one execution may take")
	durationFlag(flags, &o.PollInterval, "poll-interval", bounds[time.Duration]{10 * time.Millisecond, time.Hour},
		"longest pause before the next look for jobs")
	integerFlag(flags, &o.MaxAttempts, "max-attempts", bounds[int]{1, 100}, "executions before a job has failed")
	durationFlag(flags, &o.RetryBackoff, "retry-backoff", bounds[time.Duration]{10 * time.Millisecond, 15 * time.Minute},
		"delay before the second attempt; doubles with each further one")
	durationFlag(flags, &o.DrainTimeout, "drain-timeout", bounds[time.Duration]{0, time.Hour},
		"how long running jobs and requests may go on when the process is told to stop")
}

// requestOptions bound what clients may send.
type requestOptions struct {
	limits        job.Limits
	rates         ratelimit.Rates
	streams       feed.Limits
	introspection bool
}

func (o *requestOptions) register(flags *pflag.FlagSet) {
	o.limits = job.Limits{MaxPayloadBytes: 1 << 20, MaxBatchRecords: 1000}
	integerFlag(flags, &o.limits.MaxPayloadBytes, "max-payload-bytes", bounds[int]{1, 64 << 20}, "longest batch")
	integerFlag(flags, &o.limits.MaxBatchRecords, "max-batch-records", bounds[int]{1, 100_000}, "most records in a batch")
	rateFlag(flags, &o.rates.Submit, "rate-limit-submit", "submissions per owner and second; 0 is without limit")
	rateFlag(flags, &o.rates.Cancel, "rate-limit-cancel", "cancellations per owner and second; 0 is without limit")
	rateFlag(flags, &o.rates.Replay, "rate-limit-replay", "replays per owner and second; 0 is without limit")
	o.streams = feed.Limits{PerOwner: 100, Total: 1000}
	integerFlag(flags, &o.streams.PerOwner, "max-streams-per-owner", bounds[int]{0, 100_000},
		"most subscriptions of one owner, and most WebSockets")
	integerFlag(flags, &o.streams.Total, "max-streams", bounds[int]{0, 100_000}, "most subscriptions of all owners, and most WebSockets")
	flags.BoolVar(&o.introspection, "introspection", true, "let GraphQL clients read the schema")
}

// logOptions say what is logged, on stderr.
type logOptions struct{ format, level string }

func (o *logOptions) register(flags *pflag.FlagSet) {
	*o = logOptions{format: "text", level: "info"}
	flags.Var(choice{&o.format, telemetry.LogFormats}, "log-format", "form of the log lines")
	flags.Var(choice{&o.level, telemetry.LogLevels}, "log-level", "least level of the log lines")
}

func (o *logOptions) logger(sh shell) *slog.Logger {
	return telemetry.NewLogger(sh.stderr, o.format, o.level)
}
