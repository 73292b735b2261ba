// Package schema brings the schema of a database to a version, and tells whether it is the one that this program knows.
package schema

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/migrations"
)

const codeUndefinedTable = "42P01"

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
	if db.SQLState(err) == codeUndefinedTable {
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
