package jobtype

// FailureCode says in one word why a job is FAILED. The list is closed; nothing else is ever stored.
type FailureCode string

// The failure codes (contract section 8).
const (
	// FailureTargetUnavailable: the target could not be reached or was busy. It is retried to the attempt limit.
	FailureTargetUnavailable FailureCode = "etl_target_unavailable"
	// FailureTarget: the target refused the records (constraint, type, permission). It is final at once.
	FailureTarget FailureCode = "etl_target_failure"
	// FailureIntegrity: the stored payload no longer has its digest, or the job's effects are already in the ledger.
	FailureIntegrity FailureCode = "etl_job_integrity_failure"
	// FailureAttemptsExhausted: every allowed attempt ended without a result.
	FailureAttemptsExhausted FailureCode = "etl_worker_attempts_exhausted"
	// FailureInternal: the worker itself failed.
	FailureInternal FailureCode = "etl_internal_error"
)

// FailureCodes lists every failure code.
var FailureCodes = []FailureCode{
	FailureTargetUnavailable,
	FailureTarget,
	FailureIntegrity,
	FailureAttemptsExhausted,
	FailureInternal,
}

// CancellationByOwner is the cancellation code of a job whose owner named no reason. Every other one is from the operator's list.
const CancellationByOwner = "etl_job_cancelled_by_owner"
