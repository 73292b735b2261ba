package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/worker"
)

// Load is the SQL statement that a job runs with its records, inside the transaction that makes it SUCCEEDED. Whatever it
// writes in this database commits with the job's success or not at all.
type Load struct {
	sql string
	// builtin says that the statement is [BuiltinLoad]'s, which is short and known, so that executions may share a transaction.
	builtin bool
}

// whitespace is what the intake trims from a record's id: the Unicode property White_Space.
const whitespace = `U&'\0009\000A\000B\000C\000D\0020\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000'`

// loadRecords writes the records of each row of job (owner, id, records), which the statement around it has to have.
const loadRecords = `
INSERT INTO processed_data (principal_scope_hash, job_record_id, record_ordinal, record_id, record_body)
SELECT owner, id, ordinal, btrim(record ->> 'id', ` + whitespace + `), record
FROM job, jsonb_array_elements(records) WITH ORDINALITY AS element (record, ordinal)`

// BuiltinLoad writes each record into processed_data.
var BuiltinLoad = Load{
	sql:     `WITH job AS (SELECT @owner::bytea AS owner, @job_record_id::uuid AS id, @records::jsonb AS records)` + loadRecords,
	builtin: true,
}

// NewLoad makes a load of an operator's statement. It may use the named arguments @records (the batch, jsonb),
// @job_record_id (uuid) and @owner (bytea); another name is an error, so that a misspelt one is not silently null.
func NewLoad(sql string) (Load, error) {
	l := Load{sql: sql}
	_, args, err := l.args(worker.Lease{}, []byte{}).RewriteQuery(context.Background(), nil, sql, nil)
	for _, arg := range args {
		if arg == nil {
			return Load{}, errors.New("load statement: the only named arguments are @records, @job_record_id and @owner")
		}
	}
	return l, err
}

// args are the named arguments of the statement for one job.
func (l Load) args(lease worker.Lease, payload []byte) pgx.NamedArgs {
	return pgx.NamedArgs{
		"records":       json.RawMessage(payload),
		"job_record_id": lease.JobID,
		"owner":         lease.Owner[:],
	}
}
