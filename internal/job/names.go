package job

import "fencepost/jobtype"

// The statuses and codes of package jobtype, under the names by which the core and its callers know them. They are told of
// there, and only there.
type (
	// Status is the place of a job in its life.
	Status = jobtype.Status
	// FailureCode says why a job is FAILED.
	FailureCode = jobtype.FailureCode
	// Code names a refusal.
	Code = jobtype.Code
	// Definition is the fixed text of a refusal.
	Definition = jobtype.Definition
)

// The statuses, failure codes, cancellation code and problem codes of package jobtype.
const (
	StatusPending   = jobtype.StatusPending
	StatusRunning   = jobtype.StatusRunning
	StatusSucceeded = jobtype.StatusSucceeded
	StatusFailed    = jobtype.StatusFailed
	StatusCancelled = jobtype.StatusCancelled

	FailureTargetUnavailable = jobtype.FailureTargetUnavailable
	FailureTarget            = jobtype.FailureTarget
	FailureIntegrity         = jobtype.FailureIntegrity
	FailureAttemptsExhausted = jobtype.FailureAttemptsExhausted
	FailureInternal          = jobtype.FailureInternal

	CancellationByOwner = jobtype.CancellationByOwner

	CodeInvalidJSON               = jobtype.CodeInvalidJSON
	CodeInvalidIdempotencyKey     = jobtype.CodeInvalidIdempotencyKey
	CodeSubmissionKeyRequired     = jobtype.CodeSubmissionKeyRequired
	CodeCancellationKeyRequired   = jobtype.CodeCancellationKeyRequired
	CodeReplayKeyRequired         = jobtype.CodeReplayKeyRequired
	CodeInvalidPageRequest        = jobtype.CodeInvalidPageRequest
	CodeAuthenticationRequired    = jobtype.CodeAuthenticationRequired
	CodeJobNotFound               = jobtype.CodeJobNotFound
	CodeRouteNotFound             = jobtype.CodeRouteNotFound
	CodeMethodNotAllowed          = jobtype.CodeMethodNotAllowed
	CodeNotAcceptable             = jobtype.CodeNotAcceptable
	CodeSubmissionInProgress      = jobtype.CodeSubmissionInProgress
	CodeCancellationInProgress    = jobtype.CodeCancellationInProgress
	CodeReplayInProgress          = jobtype.CodeReplayInProgress
	CodeAlreadySucceeded          = jobtype.CodeAlreadySucceeded
	CodeAlreadyFailed             = jobtype.CodeAlreadyFailed
	CodeReplaySourceActive        = jobtype.CodeReplaySourceActive
	CodeReplaySourceSucceeded     = jobtype.CodeReplaySourceSucceeded
	CodeReplayGenerationExhausted = jobtype.CodeReplayGenerationExhausted
	CodePayloadTooLarge           = jobtype.CodePayloadTooLarge
	CodeBatchTooLarge             = jobtype.CodeBatchTooLarge
	CodeUnsupportedMediaType      = jobtype.CodeUnsupportedMediaType
	CodeInvalidRecord             = jobtype.CodeInvalidRecord
	CodeInvalidCancellationReason = jobtype.CodeInvalidCancellationReason
	CodeSubmissionKeyReused       = jobtype.CodeSubmissionKeyReused
	CodeCancellationKeyReused     = jobtype.CodeCancellationKeyReused
	CodeReplayKeyReused           = jobtype.CodeReplayKeyReused
	CodeReplayPayloadMismatch     = jobtype.CodeReplayPayloadMismatch
	CodeRateLimited               = jobtype.CodeRateLimited
	CodeInternalError             = jobtype.CodeInternalError
	CodeDatabaseUnavailable       = jobtype.CodeDatabaseUnavailable
)

// The lists of package jobtype.
var (
	Statuses     = jobtype.Statuses
	FailureCodes = jobtype.FailureCodes
)

// Definitions lists the definition of every code, in the order of the contract's table.
func Definitions() []Definition { return jobtype.Definitions() }
