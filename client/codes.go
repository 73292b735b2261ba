package client

// Code names a problem. A client switches on it; new codes may be added.
type Code string

// The problem codes of the server. Each comes with one HTTP status and a text that says what to do.
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
	CodeSubmissionKeyReused       Code = "etl_job_submission_key_reused"
	CodeCancellationKeyReused     Code = "etl_job_cancellation_key_reused"
	CodeReplayKeyReused           Code = "etl_job_replay_key_reused"
	CodeReplayPayloadMismatch     Code = "etl_job_replay_payload_mismatch"
	CodeRateLimited               Code = "etl_rate_limited"
	CodeInternalError             Code = "etl_internal_error"
	CodeDatabaseUnavailable       Code = "etl_database_unavailable"
)
