package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

// Load is the SQL statement that a job runs with its records, inside the transaction that makes it SUCCEEDED. Whatever it
// writes in this database commits with the job's success or not at all.
type Load struct {
	// sql is an operator's statement.
	sql string
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
// @job_record_id (uuid) and @owner (bytea); another one is an error, so that a misspelt name is not silently null.
func NewLoad(sql string) (Load, error) {
	sql = strings.TrimPrefix(sql, byteOrderMark)
	// An argument by number is given a name that there is not, and so is found where it is not in a string or a comment.
	named := numbered.ReplaceAllString(sql, "@number_$1")
	_, args, err := loadArgs(worker.Lease{}, []byte{}).RewriteQuery(context.Background(), nil, named, nil)
	reads := false
	for _, arg := range args {
		if arg == nil {
			return Load{}, ErrLoadArguments
		}
		if _, records := arg.(json.RawMessage); records {
			reads = true
		}
	}
	if !reads {
		return Load{}, ErrLoadRecords
	}
	return Load{sql: sql}, err
}

// query is the statement for one job.
func (l Load) query(lease worker.Lease, payload []byte) db.Query {
	args := loadArgs(lease, payload)
	if l.builtin {
		return db.Exec(loadSQL, statements.Args(args))
	}
	return db.Text(l.sql, args)
}

// loadArgs are the named arguments of a load.
func loadArgs(lease worker.Lease, payload []byte) pgx.NamedArgs {
	return pgx.NamedArgs{
		"records":       json.RawMessage(payload),
		"job_record_id": lease.JobID,
		"owner":         lease.Owner[:],
	}
}
