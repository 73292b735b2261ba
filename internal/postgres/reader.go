package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

// Reader reads lists and lineages. It is a small value without a state of its own, so the same reads can be made on any connection.
type Reader struct{ db db.DB }

// On is a reader on one connection, which has half of the time for each call.
func (r Reader) On(conn db.Conn) Reader { return Reader{r.db.On(conn)} }

var positionSQL = statements.Named("position")

// Position tells how much of the database's log is on disk. Every commit that was acknowledged lies before that.
func (r Reader) Position(ctx context.Context) (lsn string, err error) {
	err = r.db.Query(ctx, "position", db.Row(positionSQL, nil, func(row pgx.Row) error { return row.Scan(&lsn) }))
	return lsn, err
}

// query sends one statement and collects its rows.
func query[T any](
	ctx context.Context, r Reader, verb string, collect pgx.RowToFunc[T], s statements.Statement, args statements.Args,
) (rows []T, err error) {
	err = r.db.Query(ctx, verb, db.Rows(s, args, &rows, collect))
	return rows, err
}
