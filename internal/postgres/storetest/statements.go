package storetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
	"fencepost/internal/postgres/statements"
	"fencepost/internal/worker"
)

// Send sends one of the product's statements in a transaction.
func Send(ctx context.Context, tx pgx.Tx, name string, args statements.Args) (pgconn.CommandTag, error) {
	s := statements.Named(name)
	return tx.Exec(ctx, s.SQL, s.Positional(args)...)
}

// SubmitArgs are the arguments of "submit" for one job, which is not traced.
func SubmitArgs(n job.NewJob) statements.Args {
	return statements.Args{
		"owners": [][]byte{n.Owner[:]}, "ids": []uuid.UUID{n.ID}, "key_hashes": [][]byte{n.KeyHash[:]}, "trace_parents": []string{""},
		"digests": [][]byte{n.Payload.Digest[:]}, "payloads": [][]byte{n.Payload.Bytes}, "record_counts": []int{n.Payload.RecordCount},
	}
}

// CancelArgs are the arguments of "cancel" and "cancel waiting" for one job.
func CancelArgs(owner job.Owner, id uuid.UUID, keyHash job.Hash) statements.Args {
	return statements.Args{
		"owners": [][]byte{owner[:]}, "ids": []uuid.UUID{id}, "key_hashes": [][]byte{keyHash[:]},
		"reasons": []string{job.CancellationByOwner},
	}
}

// ReplayArgs are the arguments of "replay".
func ReplayArgs(sourceID uuid.UUID, n job.NewJob) statements.Args {
	return statements.Args{
		"owner": n.Owner[:], "source_id": sourceID, "id": n.ID, "key_hash": n.KeyHash[:], "digest": n.Payload.Digest[:],
		"payload": n.Payload.Bytes, "max_generation": job.MaxGeneration, "trace_parent": "",
	}
}

// ClaimArgs are the arguments of "claim" for leases of a minute.
func ClaimArgs(limit int) statements.Args {
	return statements.Args{
		"limit": limit, "worker_id": uuid.New(), "duration": time.Minute, "max_attempts": MaxAttempts,
		"failure_code": job.FailureAttemptsExhausted, "max_claimed_payload": MaxClaimedPayload,
	}
}

// ExecuteArgs are the arguments of "execute" for one lease.
func ExecuteArgs(l worker.Lease) statements.Args {
	return statements.Args{
		"owners": [][]byte{l.Owner[:]}, "ids": []uuid.UUID{l.JobID}, "claim_ids": []uuid.UUID{l.ClaimID},
		"records": []json.RawMessage{l.Payload},
	}
}

// LeaseArgs are the arguments of what names one lease, such as "succeed", with those that it has besides.
func LeaseArgs(l worker.Lease, more statements.Args) statements.Args {
	args := statements.Args{"owner": l.Owner[:], "id": l.JobID, "claim_id": l.ClaimID}
	for name, value := range more {
		args[name] = value
	}
	return args
}

// LoadArgs are the arguments of "load" for one lease.
func LoadArgs(l worker.Lease) statements.Args {
	return statements.Args{"owner": l.Owner[:], "job_record_id": l.JobID, "records": json.RawMessage(l.Payload)}
}
