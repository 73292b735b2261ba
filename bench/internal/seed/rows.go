package seed

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Payload is the batch of three records of every job that is made for a measurement.
const Payload = `[{"id":"record-1","name":"first","amount":12.5},{"id":"record-2","name":"second","amount":7},` +
	`{"id":"record-3","name":"third","tags":["a","b"]}]`

// RecordCount is the number of records in [Payload].
const RecordCount = 3

// rowsSQL makes rows $1 to $2. $3 has the users' owner hashes, $4 is the number of other owners.
var rowsSQL = `
WITH numbered AS (
	SELECT n, n / ` + literal(lanes) + ` AS turn, (n % ` + literal(lanes) + `)::integer AS lane,
		(n / ` + literal(lanes) + ` % ` + literal(lineageSpan) + `) / ` + literal(stride) + ` AS member,
		n / ` + literal(lanes) + ` % ` + literal(stride) + ` = 0 AND n % ` + literal(lanes) + ` < ` + literal(Users) + ` AS in_lineage,
		(hashint8(n) & 1048575) / 1048576.0::double precision AS chance,
		to_timestamp((` + literal(firstMillisecond) + ` + n) / 1000.0) AS at
	FROM generate_series($1::bigint, $2::bigint) AS n
), placed AS (
	SELECT *,
		CASE WHEN lane < ` + literal(Users) + ` THEN ($3::bytea[])[lane + 1]
			ELSE sha256(int8send(floor(power($4::double precision, chance))::bigint)) END AS owner,
		in_lineage AND member > 0 AS replay,
		CASE WHEN in_lineage AND member < ` + literal(LineageSize-branches) + ` THEN 'FAILED'
			WHEN chance < 0.90 THEN 'SUCCEEDED' WHEN chance < 0.95 THEN 'FAILED' ELSE 'CANCELLED' END AS status
	FROM numbered
)
INSERT INTO etl_job_records (principal_scope_hash, job_record_id, submission_key_hash, request_digest, record_count,
	job_status, attempt_count, next_attempt_at, failure_code,
	cancellation_key_hash, cancellation_code, job_cancelled_at,
	replay_source_job_record_id, replay_root_job_record_id, replay_generation_count, created_at, updated_at)
SELECT owner, ` + IDSQL("n") + `, sha256(int8send(n)), sha256('` + Payload + `'), ` + literal(RecordCount) + `,
	status, 1, at, CASE status WHEN 'FAILED' THEN 'etl_target_failure' END,
	CASE status WHEN 'CANCELLED' THEN sha256(int8send(-n)) END,
	CASE status WHEN 'CANCELLED' THEN 'etl_job_cancelled_by_owner' END,
	CASE status WHEN 'CANCELLED' THEN at + interval '1 second' END,
	CASE WHEN replay THEN ` + IDSQL("n - least(member, "+literal(branches)+") * "+literal(stride*lanes)) + ` END,
	CASE WHEN replay THEN ` + IDSQL("n - member * "+literal(stride*lanes)) + ` END,
	CASE WHEN replay THEN (member + ` + literal(branches-1) + `) / ` + literal(branches) + ` END,
	at, at + interval '1 second'
FROM placed`

func literal(n int64) string { return fmt.Sprint(n) }

// rowsAtOnce bounds one insertion.
const rowsAtOnce = 1_000_000

// Rows fills an empty, migrated database with rows of which about half belong to others others.
func Rows(ctx context.Context, databaseURL string, rows, others int64) error {
	return fill(ctx, databaseURL, insertion{sql: rowsSQL, count: rows, args: []any{owners(), others}})
}

// insertion is a statement that inserts the rows from $1 to $2, and the arguments behind those two.
type insertion struct {
	sql          string
	first, count int64
	args         []any
}

// fill inserts rows into a migrated database. Keys, foreign keys and indexes are taken away while it fills and then built
// again, so the result is as valid as the schema demands.
func fill(ctx context.Context, databaseURL string, insertions ...insertion) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rebuild, err := takeIndexes(ctx, conn)
	if err != nil {
		return err
	}
	// Triggers look at one row after the other; the foreign keys, when they come back, look at all.
	if err := exec(ctx, conn, "SET session_replication_role = replica"); err != nil {
		return err
	}
	for _, i := range insertions {
		if err := i.run(ctx, conn); err != nil {
			return err
		}
	}
	return exec(ctx, conn, append(rebuild, "VACUUM (ANALYZE, FREEZE) etl_job_records")...)
}

func (i insertion) run(ctx context.Context, conn *pgx.Conn) error {
	end := i.first + i.count
	for first := i.first; first < end; first += rowsAtOnce {
		last := min(first+rowsAtOnce, end) - 1
		if _, err := conn.Exec(ctx, i.sql, append([]any{first, last}, i.args...)...); err != nil {
			return fmt.Errorf("seed rows: %w", err)
		}
	}
	return nil
}

func exec(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// The statements that take keys and indexes away, and those that bring them back: foreign keys go first and come last.
const (
	constraintsSQL = `
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
	format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE 'etl_job_records'::regclass IN (conrelid, confrelid) AND contype IN ('p', 'u', 'f')
ORDER BY contype = 'f' DESC, contype`
	indexesSQL = `
SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index
WHERE indrelid = 'etl_job_records'::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`
)

// takeIndexes drops all keys and indexes and returns what makes them again.
func takeIndexes(ctx context.Context, conn *pgx.Conn) (rebuild []string, err error) {
	for _, query := range []string{indexesSQL, constraintsSQL} {
		rows, err := conn.Query(ctx, query)
		if err != nil {
			return nil, err
		}
		pairs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Drop, Create string }])
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			if err := exec(ctx, conn, pair.Drop); err != nil {
				return nil, err
			}
			if strings.HasPrefix(pair.Drop, "DROP INDEX") {
				rebuild = append(rebuild, pair.Create)
			} else {
				rebuild = append([]string{pair.Create}, rebuild...)
			}
		}
	}
	return rebuild, nil
}
