package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

// Load is the SQL statement that a job runs with its records, inside the transaction that makes it SUCCEEDED. Whatever it
// writes in this database commits with the job's success or not at all.
type Load struct {
	// text is an operator's statement as it was written, and sql the same with numbers for its arguments, which come in the order of args.
	text, sql string
	args      string
	// builtin says that it is the product's own instead, which is short and known, so that executions may share a transaction.
	builtin bool
}

// BuiltinLoad writes each record into processed_data.
var BuiltinLoad = Load{builtin: true}

var loadSQL = statements.Named("load")

// What is wrong with the text of a load. Neither quotes it.
var (
	ErrLoadArguments = errors.New("load statement: the only arguments are @records, @job_record_id and @owner")
	ErrLoadRecords   = errors.New("load statement: it never reads @records, so every batch would be lost")
)

// byteOrderMark may stand in front of a file in UTF-8.
const byteOrderMark = "\uFEFF"

// numbered is an argument by number, which an operator's statement may not have.
var numbered = regexp.MustCompile(`\$(\d+)`)

// NewLoad makes a load of an operator's statement. It has to use the named argument @records (the batch, jsonb), and may use
// @job_record_id (uuid) and @owner (bytea); another one is an error, so that a misspelt name is not silently null. Whether it fits a
// database is for [Prepare] to say.
func NewLoad(text string) (Load, error) {
	l := Load{text: strings.TrimPrefix(text, byteOrderMark)}
	probe := pgx.NamedArgs{"records": 'r', "job_record_id": 'j', "owner": 'o'}
	// An argument by number is given a name that there is not, and so is found where it is not in a string or a comment.
	_, args, err := probe.RewriteQuery(context.Background(), nil, numbered.ReplaceAllString(l.text, "@number_$1"), nil)
	l.sql, _, _ = probe.RewriteQuery(context.Background(), nil, l.text, nil)
	for _, arg := range args {
		letter, known := arg.(rune)
		if !known {
			return Load{}, ErrLoadArguments
		}
		l.args += string(letter)
	}
	if !strings.Contains(l.args, "r") {
		return Load{}, ErrLoadRecords
	}
	return l, err
}

// Builtin reports whether it is the product's own.
func (l Load) Builtin() bool { return l.builtin }

// query is the statement for one job.
func (l Load) query(lease worker.Lease, payload []byte) db.Query {
	if l.builtin {
		return db.Exec(loadSQL, statements.Args{"records": json.RawMessage(payload), "job_record_id": lease.JobID, "owner": lease.Owner[:]})
	}
	args := make([]any, len(l.args))
	for i, letter := range l.args {
		switch letter {
		case 'r':
			args[i] = json.RawMessage(payload)
		case 'j':
			args[i] = lease.JobID
		default:
			args[i] = lease.Owner[:]
		}
	}
	return db.Text(l.sql, args)
}

// place says where in the operator's text a character of the statement is, counted from 1 on, as PostgreSQL does.
func (l Load) place(position int32) string {
	if l.builtin || position <= 0 {
		return ""
	}
	sql, text := []rune(l.sql), []rune(l.text)
	at := 0 // in the text, while i is in the statement
	for i := 0; i < min(int(position)-1, len(sql)); i++ {
		at++
		if sql[i] == '$' && text[at-1] == '@' { // a number for a name
			for at < len(text) && isName(text[at]) {
				at++
			}
			for i+1 < len(sql) && unicode.IsDigit(sql[i+1]) {
				i++
			}
		}
	}
	before := string(text[:at])
	line := strings.Count(before, "\n") + 1
	column := at - len([]rune(before[:strings.LastIndex(before, "\n")+1])) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

func isName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Prepare implements worker.Queue. What the load is by now takes its place when it fits.
func (s *Store) Prepare(ctx context.Context) error {
	load := s.reread()
	err := Prepare(ctx, s.config.Loads, load)
	if err == nil {
		s.load.Store(&load)
	}
	return err
}

// reread is the load as it is by now, or as it was where it cannot be read.
func (s *Store) reread() Load {
	if s.config.Reload != nil {
		if load, err := s.config.Reload(); err == nil {
			return load
		}
	}
	return *s.load.Load()
}

// Prepare tells whether a load fits a database, without running it: nil, a [worker.LoadError], or an error of the connection.
func Prepare(ctx context.Context, pool *pgxpool.Pool, load Load) error {
	sql := load.sql
	if load.builtin {
		sql = executeSQL.SQL
	}
	err := pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		_, err := conn.Conn().PgConn().Prepare(ctx, "", sql, nil)
		return err
	})
	if pgErr, fromServer := errors.AsType[*pgconn.PgError](err); fromServer && faultOf(pgErr.Code) != worker.FaultPassing {
		fault := worker.NewLoadError(job.FailureTarget, worker.FaultOfLoad, pgErr)
		fault.SQLState, fault.Place = pgErr.Code, load.place(pgErr.Position)
		return fault
	}
	return err
}
