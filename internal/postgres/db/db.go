// Package db sends the product's statements: in one round trip and one implicit transaction, bounded in time, tried again where that is
// safe, traced by name, with errors that the core knows. Nothing else in the product talks to PostgreSQL about jobs.
package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"

	"fencepost/internal/postgres/statements"
)

// Conn is where statements go: a pool, or one connection of it.
type Conn interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// DB sends statements on a connection or a pool. It is a small value, to be copied at will.
type DB struct {
	conn Conn
	// timeout bounds a call with all its tries, waiting for a connection included.
	timeout time.Duration
	// places are how many of its sends may be under way at once; nil for any number.
	places *semaphore.Weighted
	// unavailable is told of calls that found the database unavailable; nil for nobody.
	unavailable func(sqlState string)
}

// New is a DB on a connection or a pool, whose calls may take as long as the timeout.
func New(conn Conn, timeout time.Duration) DB { return DB{conn: conn, timeout: timeout} }

// On is the same on another connection, with half of the time for each call.
func (d DB) On(conn Conn) DB { return New(conn, d.timeout/2) }

// Reporting is the same, and tells of each call that found the database unavailable: its SQLSTATE, or "" when no server answered.
func (d DB) Reporting(unavailable func(sqlState string)) DB {
	d.unavailable = unavailable
	return d
}

// AtMost is the same for so many sends at once; more of them wait, within the time of their calls. All copies of it count together.
func (d DB) AtMost(sends int) DB {
	d.places = semaphore.NewWeighted(int64(sends))
	return d
}

// A Query is a statement with its arguments, and what becomes of its answer.
type Query struct {
	sql  string
	args []any
	read func(*pgx.QueuedQuery)
}

// Exec is a statement whose answer is only that it did not fail.
func Exec(s statements.Statement, args statements.Args) Query {
	return Query{sql: s.SQL, args: s.Positional(args), read: func(*pgx.QueuedQuery) {}}
}

// Text is SQL that is not the product's: an operator's load, with its arguments in their order.
func Text(sql string, args []any) Query {
	return Query{sql: sql, args: args, read: func(*pgx.QueuedQuery) {}}
}

// Row is a statement of which one row is read. Without a row, the error is pgx.ErrNoRows unless read makes another one of it.
func Row(s statements.Statement, args statements.Args, read func(pgx.Row) error) Query {
	q := Exec(s, args)
	q.read = func(queued *pgx.QueuedQuery) { queued.QueryRow(read) }
	return q
}

// Rows is a statement whose rows are collected into a slice, which a further try begins anew.
func Rows[T any](s statements.Statement, args statements.Args, into *[]T, collect pgx.RowToFunc[T]) Query {
	q := Exec(s, args)
	q.read = func(queued *pgx.QueuedQuery) {
		queued.Query(func(rows pgx.Rows) (err error) {
			*into, err = pgx.CollectRows(rows, collect)
			return err
		})
	}
	return q
}

var set = statements.Named("set")

// Set gives a parameter of the server a value until the end of the transaction.
func Set(setting, value string) Query {
	return Exec(set, statements.Args{"setting": setting, "value": value})
}

// SetDuration is [Set] for a parameter that is a time.
func SetDuration(setting string, d time.Duration) Query {
	return Set(setting, fmt.Sprintf("%dms", d.Milliseconds()))
}

// Send sends queries in one round trip, and in one implicit transaction unless they say otherwise. It tries once, is bounded by ctx
// alone, and its error is the server's own.
func Send(ctx context.Context, conn Conn, queries ...Query) error {
	batch := &pgx.Batch{}
	for _, q := range queries {
		q.read(batch.Queue(q.sql, q.args...))
	}
	return conn.SendBatch(ctx, batch).Close()
}

// Send is [Send] on the DB's connection, when there is a place for it.
func (d DB) Send(ctx context.Context, queries ...Query) error {
	if d.places != nil {
		if err := d.places.Acquire(ctx, 1); err != nil {
			return err
		}
		defer d.places.Release(1)
	}
	return Send(ctx, d.conn, queries...)
}
