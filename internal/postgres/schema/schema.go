// Package schema brings the schema of a database to a version, and tells whether it is the one that this program knows.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/migrations"
)

const codeUndefinedTable = "42P01"

// A concurrent migrator waits for the session lock: it tries every second, for up to an hour.
const migrationLockTries = 3600

var schemaVersion, readOnlyNow = statements.Named("schema version"), statements.Named("read only")

// Error means that the database's schema is not the one that this program was made for.
type Error struct {
	// Have is the schema's version, and Want the program's.
	Have, Want int64
}

// Error says what to run.
func (e *Error) Error() string {
	if e.Have < e.Want {
		return fmt.Sprintf("the database schema is at version %d and this program needs version %d: run `fencepost migrate up`", e.Have, e.Want)
	}
	return fmt.Sprintf("the database schema is at version %d and this program knows only up to version %d: run a newer fencepost, "+
		"or with the newer one `fencepost migrate down --to %d`", e.Have, e.Want, e.Want)
}

// Check returns a [Error] unless the schema is exactly the one that this program knows.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	var have int64
	err := db.Send(ctx, pool, db.Row(schemaVersion, nil, func(row pgx.Row) error { return row.Scan(&have) }))
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == codeUndefinedTable {
		err = nil
	}
	if err != nil {
		return db.Classify(ctx, "check schema", err)
	}
	if want := latestVersion(); have != want {
		return &Error{Have: have, Want: want}
	}
	return nil
}

// Ready is [Check] for a database that is to be written now. One that is read-only, as a standby is, makes the
// error wrap [job.ErrUnavailable].
func Ready(ctx context.Context, pool *pgxpool.Pool) error {
	if err := Check(ctx, pool); err != nil {
		return err
	}
	var readOnly bool
	err := db.Send(ctx, pool, db.Row(readOnlyNow, nil, func(row pgx.Row) error { return row.Scan(&readOnly) }))
	if readOnly {
		return fmt.Errorf("the database is read-only: %w", job.ErrUnavailable)
	}
	return db.Classify(ctx, "check writing", err)
}

// latestVersion is that of the last embedded migration; their names sort by version.
func latestVersion() int64 {
	names, _ := fs.Glob(migrations.FS, "*.sql")               // the pattern is well-formed
	version, _ := goose.NumericComponent(names[len(names)-1]) // the names are checked by the tests
	return version
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

// Up brings the schema to the version that this program knows. Concurrent calls wait for each other.
func Up(ctx context.Context, url string) error {
	return migrate(url, migrations.FS, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
}

// Down takes the schema back to a version. It stops, with the reason, at a step that would lose a state that rows are
// still in.
func Down(ctx context.Context, url string, to int64) error {
	return migrate(url, migrations.FS, func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, to)
		return err
	})
}

// Migrations lists the steps in their order.
func Migrations(ctx context.Context, url string) ([]Migration, error) {
	var list []Migration
	err := migrate(url, migrations.FS, func(p *goose.Provider) error {
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

// migrate runs one action on migration files, under goose's session lock.
func migrate(url string, files fs.FS, action func(*goose.Provider) error) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	database := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(db.Begin))
	defer database.Close() // nothing is lost with its connections
	locker, lockErr := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, migrationLockTries))
	provider, err := goose.NewProvider(goose.DialectPostgres, database, files, goose.WithSessionLocker(locker))
	if err = errors.Join(lockErr, err); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return action(provider)
}
