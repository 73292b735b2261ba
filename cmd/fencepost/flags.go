package main

import (
	"time"

	"github.com/spf13/pflag"

	"fencepost/internal/command"
	"fencepost/internal/job"
	"fencepost/internal/server"
	"fencepost/internal/telemetry"
	"fencepost/internal/worker"
)

func registerDatabaseURL(flags *pflag.FlagSet, url *string) {
	flags.StringVar(url, "database-url", "", "PostgreSQL to use, as postgres://user:password@host:port/database")
}

// registerDatabase adds the flags that say where the jobs are and how they are loaded.
func registerDatabase(flags *pflag.FlagSet, d *server.Database) {
	registerDatabaseURL(flags, &d.URL)
	flags.StringVar(&d.ListenURL, "listen-url", "",
		"the same PostgreSQL without a pooler, for notices; needed where --database-url leads through one that shares sessions")
	command.IntegerFlag(flags, &d.PoolSize, "pool-size", command.Bounds[int]{Min: 2, Max: 1000},
		"most database connections; must be more than --workers")
	command.DurationFlag(flags, &d.LockTimeout, "lock-timeout",
		command.Bounds[time.Duration]{Min: 10 * time.Millisecond, Max: time.Minute}, "how long a request waits for a concurrent one")
	flags.StringVar(&d.LoadSQLFile, "load-sql-file", "",
		"statement that loads a job's records into your own tables, in place of processed_data")
	flags.BoolVar(&d.ExplainNames, "explain-names", false, "tell owners the name of a constraint that their records violate")
}

// registerJobs adds the flags that say how this process runs jobs, and at least how many at once.
func registerJobs(flags *pflag.FlagSet, w *worker.Config, fewest int) {
	usage := "jobs to run at once"
	if fewest == 0 {
		usage += "; with 0 this process runs none"
	}
	command.IntegerFlag(flags, &w.Workers, "workers", command.Bounds[int]{Min: fewest, Max: 256}, usage)
	command.DurationFlag(flags, &w.LeaseDuration, "lease-duration",
		command.Bounds[time.Duration]{Min: time.Second, Max: 24 * time.Hour}, "longest that one execution may take")
	command.DurationFlag(flags, &w.PollInterval, "poll-interval",
		command.Bounds[time.Duration]{Min: 10 * time.Millisecond, Max: time.Hour}, "longest pause before the next look for jobs")
	command.IntegerFlag(flags, &w.MaxAttempts, "max-attempts", command.Bounds[int]{Min: 1, Max: 100},
		"attempts that may end by a passing fault or a lost lease, before a job has failed")
	command.DurationFlag(flags, &w.ExplainTimeout, "explain-timeout", command.Bounds[time.Duration]{Min: 0, Max: time.Minute},
		"how long to search for the record at fault in a failed batch; 0 does not search")
	command.DurationFlag(flags, &w.RetryBackoff, "retry-backoff",
		command.Bounds[time.Duration]{Min: 10 * time.Millisecond, Max: 15 * time.Minute},
		"delay before the second attempt; doubles with each further one")
	command.DurationFlag(flags, &w.DrainTimeout, "drain-timeout", command.Bounds[time.Duration]{Min: 0, Max: time.Hour},
		"how long running jobs and requests may go on when the process is told to stop")
}

// registerAdmin adds the flags that say where metrics and profiles are served.
func registerAdmin(flags *pflag.FlagSet, a *server.Admin) {
	flags.StringVar(&a.Address, "admin-listen", a.Address, "address of metrics and profiles, which need no password")
	flags.BoolVar(&a.AllowPlaintext, "allow-plaintext", false, "listen without TLS where other machines can connect")
}

// registerPublic adds the flags that say where clients are served.
func registerPublic(flags *pflag.FlagSet, p *server.Public) {
	flags.StringVar(&p.Address, "listen", p.Address, "address of REST and GraphQL")
	flags.StringVar(&p.CertFile, "tls-cert", "", "PEM file of the certificate chain; needs --tls-key")
	flags.StringVar(&p.KeyFile, "tls-key", "", "PEM file of the certificate's key; needs --tls-cert")
}

// registerRequests adds the flags that bound what clients may send.
func registerRequests(flags *pflag.FlagSet, c *server.Config) {
	command.IntegerFlag(flags, &c.Limits.MaxPayloadBytes, "max-payload-bytes", command.Bounds[int]{Min: 1, Max: 64 << 20}, "longest batch")
	command.IntegerFlag(flags, &c.Limits.MaxBatchRecords, "max-batch-records", command.Bounds[int]{Min: 1, Max: 100_000},
		"most records in a batch")
	flags.Func("cancellation-reasons", "codes that a cancellation may give as its reason, such as wrong_batch,superseded",
		func(text string) (err error) {
			c.Reasons, err = job.ParseReasons(text)
			return err
		})
	command.RateFlag(flags, &c.Rates.Submit, "rate-limit-submit", "submissions per owner and second; 0 is without limit")
	command.RateFlag(flags, &c.Rates.Cancel, "rate-limit-cancel", "cancellations per owner and second; 0 is without limit")
	command.RateFlag(flags, &c.Rates.Replay, "rate-limit-replay", "replays per owner and second; 0 is without limit")
	streams := command.Bounds[int]{Min: 0, Max: 100_000}
	command.IntegerFlag(flags, &c.Streams.PerOwner, "max-streams-per-owner", streams,
		"most subscriptions of one owner, and most WebSockets")
	command.IntegerFlag(flags, &c.Streams.Total, "max-streams", streams, "most subscriptions of all owners, and most WebSockets")
	flags.BoolVar(&c.Introspection, "introspection", c.Introspection, "let GraphQL clients read the schema")
}

// registerSite adds the flags that say where a server keeps its users and, without a database URL, its data.
func registerSite(flags *pflag.FlagSet, s *server.Site) {
	flags.StringVar(&s.UsersFile, "users-file", "", "htpasswd file of the users, with bcrypt hashes; see \"fencepost users\"")
	flags.StringVar(&s.DataDir, "data-dir", "", "where a private PostgreSQL keeps its data "+
		"(default $XDG_DATA_HOME/fencepost or ~/.local/share/fencepost, for root /var/lib/fencepost)")
	flags.StringVar(&s.PostgresBin, "postgres-bin", "", "directory of the programs of a private PostgreSQL "+
		"(default: looked for on this machine)")
}

// logOptions say what is logged, on stderr.
type logOptions struct{ format, level string }

func (o *logOptions) register(flags *pflag.FlagSet) {
	*o = logOptions{format: "text", level: "info"}
	command.ChoiceFlag(flags, &o.format, "log-format", telemetry.LogFormats, "form of the log lines")
	command.ChoiceFlag(flags, &o.level, "log-level", telemetry.LogLevels, "least level of the log lines")
}

// runtime is what a process gets from the shell.
func (o *logOptions) runtime(sh command.Shell) server.Runtime {
	log := telemetry.NewLogger(sh.Stderr, o.format, o.level)
	return server.Runtime{Version: version(), Log: log, LookupEnv: sh.LookupEnv}
}
