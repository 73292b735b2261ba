package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/migrations"
)

const codeLockNotAvailable = "55P03"

const (
	// A concurrent migrator waits for the session lock: it tries every second, for up to an hour.
	migrationLockTries = 3600
	// Whoever comes behind a migration that waits for a table waits as well, so that steps back soon, and lets them pass.
	tableLockTimeout = "1s"
	tableLockPause   = time.Second
	tableLockTries   = 300
	// outsideTransaction marks a migration that builds an index beside its table's users. It keeps nobody waiting, and may wait for them.
	outsideTransaction = "+goose NO TRANSACTION"
)

var tableHolderSQL = statements.Named("table holder")

// A Migrator brings the schema of a database to a version. A migration that alters a table never waits for it longer than a second, since
// all others would wait behind it; it steps back and tries again, for some minutes.
type Migrator struct {
	// URL is that of the database, which a pooler must not stand before.
	URL string
	// Waiting is told at each such step who is in the way, where it is not nil.
	Waiting func(Holder)

	// What tests have otherwise than the constants say.
	files fs.FS
	tries int
	pause time.Duration
}

// Migration is one step of the schema, and whether the database has it.
type Migration struct {
	// Version is the number that the file begins with, and Name the file's name.
	Version int64
	Name    string
	// Applied tells whether the database has it, and AppliedAt since when.
	Applied   bool
	AppliedAt time.Time
}

// A Holder is a session that uses a table which a migration has to alter.
type Holder struct {
	// ProcessID is what pg_terminate_backend takes; 0 when it has gone meanwhile.
	ProcessID int
	// Role is whose session it is, and Application what that calls itself.
	Role, Application string
}

// String names the session, for its operator.
func (h Holder) String() string {
	return fmt.Sprintf("process %d of role %q, application %q", h.ProcessID, h.Role, h.Application)
}

// Up is [Migrator.Up].
func Up(ctx context.Context, url string) error { return Migrator{URL: url}.Up(ctx) }

// Migrations lists the steps in their order.
func Migrations(ctx context.Context, url string) ([]Migration, error) {
	return Migrator{URL: url}.list(ctx)
}

// Up brings the schema to the version that this program knows. Concurrent calls wait for each other.
func (m Migrator) Up(ctx context.Context) error {
	steps, err := m.list(ctx)
	for _, s := range steps {
		if err == nil && !s.Applied {
			err = m.apply(ctx, s, true)
		}
	}
	return err
}

// Down takes the schema back to a version. It stops, with the reason, at a step that would lose a state that rows are
// still in. A schema that is newer than this program it leaves alone.
func (m Migrator) Down(ctx context.Context, to int64) error {
	steps, err := m.list(ctx)
	if err == nil {
		err = m.refuseNewer(ctx)
	}
	for _, s := range slices.Backward(steps) {
		if err == nil && s.Applied && s.Version > to {
			err = m.apply(ctx, s, false)
		}
	}
	return err
}

func (m Migrator) refuseNewer(ctx context.Context) error {
	return m.run("0", func(p *goose.Provider) error {
		current, known, err := p.GetVersions(ctx)
		if err == nil && current > known {
			err = &Error{Have: current, Want: known}
		}
		return err
	})
}

func (m Migrator) list(ctx context.Context) ([]Migration, error) {
	var list []Migration
	err := m.run("0", func(p *goose.Provider) error {
		steps, err := p.Status(ctx)
		for _, s := range steps {
			list = append(list, Migration{
				Version: s.Source.Version, Name: s.Source.Path,
				Applied: s.State == goose.StateApplied, AppliedAt: s.AppliedAt,
			})
		}
		return err
	})
	return list, err
}

// apply makes one step up or down, unless a concurrent migrator has made it.
func (m Migrator) apply(ctx context.Context, step Migration, up bool) error {
	text, _ := fs.ReadFile(m.source(), step.Name) // goose has read it, too
	if strings.Contains(string(text), outsideTransaction) {
		return m.try(ctx, step, up, "0")
	}
	var holder Holder
	var err error
	for range cmp.Or(m.tries, tableLockTries) {
		if err = m.try(ctx, step, up, tableLockTimeout); db.SQLState(err) != codeLockNotAvailable {
			return err
		}
		if holder, err = m.stepBack(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("version %d of the schema has to wait for %v: end that transaction, or try again later", step.Version, holder)
}

func (m Migrator) try(ctx context.Context, step Migration, up bool, lockTimeout string) error {
	err := m.run(lockTimeout, func(p *goose.Provider) error {
		_, err := p.ApplyVersion(ctx, step.Version, up)
		return err
	})
	if errors.Is(err, goose.ErrAlreadyApplied) || errors.Is(err, goose.ErrNotApplied) {
		return nil
	}
	return err
}

// stepBack tells who is in the way and lets those behind a migration pass.
func (m Migrator) stepBack(ctx context.Context) (Holder, error) {
	holder, err := m.holder(ctx)
	if err == nil && m.Waiting != nil {
		m.Waiting(holder)
	}
	select {
	case <-time.After(cmp.Or(m.pause, tableLockPause)):
	case <-ctx.Done():
	}
	return holder, cmp.Or(err, ctx.Err())
}

// holder is the session that has used a table of the schema for the longest time in one transaction.
func (m Migrator) holder(ctx context.Context) (h Holder, err error) {
	conn, err := pgx.Connect(ctx, m.URL)
	if err != nil {
		return h, db.Classify(ctx, "migrate", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = db.Send(ctx, conn, db.Row(tableHolderSQL, nil, func(row pgx.Row) error { return row.Scan(&h.ProcessID, &h.Role, &h.Application) }))
	if errors.Is(err, pgx.ErrNoRows) { // it has gone meanwhile
		return h, nil
	}
	return h, db.Classify(ctx, "migrate", err)
}

// run makes one action under goose's session lock. A time in the database's URL is meant, and kept.
func (m Migrator) run(lockTimeout string, action func(*goose.Provider) error) error {
	config, err := pgx.ParseConfig(m.URL)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	if _, named := config.RuntimeParams["lock_timeout"]; !named {
		config.RuntimeParams["lock_timeout"] = lockTimeout
	}
	database := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(db.Begin))
	defer database.Close() // nothing is lost with its connections
	locker, lockErr := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, migrationLockTries))
	provider, err := goose.NewProvider(goose.DialectPostgres, database, m.source(), goose.WithSessionLocker(locker))
	if err = errors.Join(lockErr, err); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return action(provider)
}

// source are the migrations that this program knows.
func (m Migrator) source() fs.FS {
	if m.files != nil {
		return m.files
	}
	return migrations.FS
}
