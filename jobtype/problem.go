package jobtype

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Code names a refusal, spelled as on the wire. A client switches on it; a later server may know more of them.
type Code string

// The problem codes, in the order of the contract's table.
const (
	CodeInvalidJSON               Code = "etl_invalid_json"
	CodeInvalidIdempotencyKey     Code = "etl_invalid_idempotency_key"
	CodeSubmissionKeyRequired     Code = "etl_job_submission_key_required"
	CodeCancellationKeyRequired   Code = "etl_job_cancellation_key_required"
	CodeReplayKeyRequired         Code = "etl_job_replay_key_required"
	CodeInvalidPageRequest        Code = "etl_invalid_page_request"
	CodeAuthenticationRequired    Code = "etl_authentication_required"
	CodeJobNotFound               Code = "etl_job_not_found"
	CodeRouteNotFound             Code = "etl_route_not_found"
	CodeMethodNotAllowed          Code = "etl_method_not_allowed"
	CodeNotAcceptable             Code = "etl_not_acceptable"
	CodeSubmissionInProgress      Code = "etl_job_submission_in_progress"
	CodeCancellationInProgress    Code = "etl_job_cancellation_in_progress"
	CodeReplayInProgress          Code = "etl_job_replay_in_progress"
	CodeAlreadySucceeded          Code = "etl_job_already_succeeded"
	CodeAlreadyFailed             Code = "etl_job_already_failed"
	CodeReplaySourceActive        Code = "etl_job_replay_source_active"
	CodeReplaySourceSucceeded     Code = "etl_job_replay_source_succeeded"
	CodeReplayGenerationExhausted Code = "etl_job_replay_generation_exhausted"
	CodePayloadTooLarge           Code = "etl_payload_too_large"
	CodeBatchTooLarge             Code = "etl_batch_too_large"
	CodeUnsupportedMediaType      Code = "etl_unsupported_media_type"
	CodeInvalidRecord             Code = "etl_invalid_record"
	CodeInvalidCancellationReason Code = "etl_invalid_cancellation_reason"
	CodeSubmissionKeyReused       Code = "etl_job_submission_key_reused"
	CodeCancellationKeyReused     Code = "etl_job_cancellation_key_reused"
	CodeReplayKeyReused           Code = "etl_job_replay_key_reused"
	CodeReplayPayloadMismatch     Code = "etl_job_replay_payload_mismatch"
	CodeRateLimited               Code = "etl_rate_limited"
	CodeInternalError             Code = "etl_internal_error"
	CodeDatabaseUnavailable       Code = "etl_database_unavailable"
)

// Definition is the fixed text of a problem. Nothing from a request, the database or an error is ever copied into one.
type Definition struct {
	// Code is the code that the definition belongs to.
	Code Code
	// Status is the HTTP status (RFC 9110) that REST answers with.
	Status int
	// Title is the short summary, the same for every occurrence (RFC 9457 section 3.1.3).
	Title string
	// Detail tells the client what to do about it.
	Detail string
	// RetryAfter is how long to wait before the same request, under the same key, is worth repeating; 0 when a repetition
	// would be refused again. A rate limit, which knows better, says itself how long.
	RetryAfter time.Duration
}

// Type is the problem's URI (RFC 9457 section 3.1.1): the code as a URN.
func (d Definition) Type() string {
	return "urn:fencepost:problem:" + strings.ReplaceAll(string(d.Code), "_", "-")
}

// undecided is how long to wait for what other requests decide, or for a database to come back.
const undecided = time.Second

var definitions = []Definition{
	{
		CodeInvalidJSON, http.StatusBadRequest, "Invalid JSON",
		"The body must be one well-formed JSON array, or for a cancellation an object with at most the text reasonCode, in UTF-8 without a byte-order mark, with no repeated member names and at most 64 levels deep.", 0,
	},
	{
		CodeInvalidIdempotencyKey, http.StatusBadRequest, "Invalid idempotency key",
		"The idempotency key must be one quoted string of 1 to 255 printable ASCII characters.", 0,
	},
	{
		CodeSubmissionKeyRequired, http.StatusBadRequest, "Submission key required",
		"Submitting a job needs an idempotency key: the header Idempotency-Key in REST, idempotencyKey in GraphQL.", 0,
	},
	{
		CodeCancellationKeyRequired, http.StatusBadRequest, "Cancellation key required",
		"Cancelling a job needs an idempotency key: the header Idempotency-Key in REST, idempotencyKey in GraphQL.", 0,
	},
	{
		CodeReplayKeyRequired, http.StatusBadRequest, "Replay key required",
		"Replaying a job needs an idempotency key: the header Idempotency-Key in REST, idempotencyKey in GraphQL.", 0,
	},
	{
		CodeInvalidPageRequest, http.StatusBadRequest, "Invalid page request",
		"A page takes a limit from 1 to 100, a cursor from an earlier page with the same filters, and known filter values.", 0,
	},
	{
		CodeAuthenticationRequired, http.StatusUnauthorized, "Authentication required",
		"This resource needs valid Basic credentials.", 0,
	},
	{
		CodeJobNotFound, http.StatusNotFound, "Job not found",
		"There is no such job.", 0,
	},
	{
		CodeRouteNotFound, http.StatusNotFound, "Route not found",
		"There is no such resource. Paths are matched exactly.", 0,
	},
	{
		CodeMethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed",
		"The resource does not have this method. The Allow header lists those that it has.", 0,
	},
	{
		CodeNotAcceptable, http.StatusNotAcceptable, "Not acceptable",
		"The resource has no representation of an accepted media type.", 0,
	},
	{
		CodeSubmissionInProgress, http.StatusConflict, "Submission in progress",
		"A concurrent submission has not been decided yet. Retry with the same key.", undecided,
	},
	{
		CodeCancellationInProgress, http.StatusConflict, "Cancellation in progress",
		"A concurrent change of the job has not been decided yet. Retry with the same key.", undecided,
	},
	{
		CodeReplayInProgress, http.StatusConflict, "Replay in progress",
		"A concurrent replay has not been decided yet. Retry with the same key.", undecided,
	},
	{
		CodeAlreadySucceeded, http.StatusConflict, "Job already succeeded",
		"The job succeeded before it could be cancelled. Its effects are committed.", 0,
	},
	{
		CodeAlreadyFailed, http.StatusConflict, "Job already failed",
		"The job failed before it could be cancelled. None of its effects remain.", 0,
	},
	{
		CodeReplaySourceActive, http.StatusConflict, "Replay source active",
		"The source job is still pending or running. Cancel it or wait for its end.", 0,
	},
	{
		CodeReplaySourceSucceeded, http.StatusConflict, "Replay source succeeded",
		"The source job succeeded. Replaying it could duplicate its effects.", 0,
	},
	{
		CodeReplayGenerationExhausted, http.StatusConflict, "Replay generations exhausted",
		"The source job has the last allowed generation, 100. Submit the records as a new job.", 0,
	},
	{
		CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "Payload too large",
		"The body is larger than this server accepts. Split the batch.", 0,
	},
	{
		CodeBatchTooLarge, http.StatusRequestEntityTooLarge, "Batch too large",
		"The batch has more records than this server accepts. Split the batch.", 0,
	},
	{
		CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type",
		"The body must be application/json in UTF-8 without a content encoding.", 0,
	},
	{
		CodeInvalidRecord, http.StatusUnprocessableEntity, "Invalid record",
		"Each record must be an object with a string id of 1 to 256 visible characters, and hold only text and numbers that can be stored.", 0,
	},
	{
		CodeInvalidCancellationReason, http.StatusUnprocessableEntity, "Invalid cancellation reason",
		"A cancellation names one of the reasons that this server allows, or none.", 0,
	},
	{
		CodeSubmissionKeyReused, http.StatusUnprocessableEntity, "Submission key reused",
		"The key was used for a submission with other bytes. Use a new key.", 0,
	},
	{
		CodeCancellationKeyReused, http.StatusUnprocessableEntity, "Cancellation key reused",
		"The job is already cancelled, under another key or for another reason.", 0,
	},
	{
		CodeReplayKeyReused, http.StatusUnprocessableEntity, "Replay key reused",
		"The key was used for a replay of another source or with other bytes. Use a new key.", 0,
	},
	{
		CodeReplayPayloadMismatch, http.StatusUnprocessableEntity, "Replay payload mismatch",
		"The body is not byte for byte the payload of the source job.", 0,
	},
	{
		CodeRateLimited, http.StatusTooManyRequests, "Rate limited",
		"Too many such requests. Wait as long as the Retry-After header says.", undecided,
	},
	{
		CodeInternalError, http.StatusInternalServerError, "Internal error",
		"The server failed to handle the request. Retry with the same key.", 0,
	},
	{
		CodeDatabaseUnavailable, http.StatusServiceUnavailable, "Database unavailable",
		"The database cannot be used now. Retry with the same key.", undecided,
	},
}

// Definitions lists the definition of every code, in the order of the contract's table.
func Definitions() []Definition { return slices.Clone(definitions) }

// Define returns the fixed text of a code. It is the zero Definition for a code that this version does not know.
func (c Code) Define() Definition {
	for _, d := range definitions {
		if d.Code == c {
			return d
		}
	}
	return Definition{}
}
