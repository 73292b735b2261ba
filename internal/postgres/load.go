package postgres

import (
	"context"
	"encoding/json"
	"errors"

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

// NewLoad makes a load of an operator's statement. It may use the named arguments @records (the batch, jsonb),
// @job_record_id (uuid) and @owner (bytea); another name is an error, so that a misspelt one is not silently null.
func NewLoad(sql string) (Load, error) {
	_, args, err := loadArgs(worker.Lease{}, []byte{}).RewriteQuery(context.Background(), nil, sql, nil)
	for _, arg := range args {
		if arg == nil {
			return Load{}, errors.New("load statement: the only named arguments are @records, @job_record_id and @owner")
		}
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
