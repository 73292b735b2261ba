package job

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
)

// Operation is one of the three writes that an owner can make.
type Operation string

// The operations.
const (
	OperationSubmit Operation = "submit"
	OperationCancel Operation = "cancel"
	OperationReplay Operation = "replay"

	// reading stands for every read: it takes no locks, so it can only be busy when the database is.
	reading Operation = ""
)

// Operations lists every operation.
var Operations = []Operation{OperationSubmit, OperationCancel, OperationReplay}

// operationCodes are the refusals that each operation has its own code for.
var operationCodes = map[Operation]struct{ keyRequired, keyReused, inProgress Code }{
	OperationSubmit: {CodeSubmissionKeyRequired, CodeSubmissionKeyReused, CodeSubmissionInProgress},
	OperationCancel: {CodeCancellationKeyRequired, CodeCancellationKeyReused, CodeCancellationInProgress},
	OperationReplay: {CodeReplayKeyRequired, CodeReplayKeyReused, CodeReplayInProgress},
	reading:         {inProgress: CodeDatabaseUnavailable},
}

// Observer is told what happened, for metrics. Its methods are called after the fact is committed.
type Observer interface {
	// JobEnded is called exactly once for a job's terminal status, by the process that made the transition.
	JobEnded(status Status)
	// IdempotentReplay is called when a write was answered from an earlier one under the same key.
	IdempotentReplay(op Operation)
	// JobCreated is called for each new job with its generation: 0 for a submission.
	JobCreated(generation int)
}

// Unobserved is an [Observer] that counts nothing, for whoever wants to know nothing.
type Unobserved struct{}

// JobEnded implements [Observer].
func (Unobserved) JobEnded(Status) {}

// IdempotentReplay implements [Observer].
func (Unobserved) IdempotentReplay(Operation) {}

// JobCreated implements [Observer].
func (Unobserved) JobCreated(int) {}

// Service is what both doors call. It validates, scopes everything to the owner, and names each refusal as a [Problem].
// An error that is no problem is the caller's own cancellation, or a bug, for which the doors have a fixed text.
type Service struct {
	store    Store
	limits   Limits
	observer Observer
	reasons  Reasons
}

// NewService makes the service over a store. Its cancellations have no reasons to choose from.
func NewService(store Store, limits Limits, observer Observer) *Service {
	return &Service{store: store, limits: limits, observer: observer}
}

// WithReasons lets cancellations name these reasons. It is called before the service is used.
func (s *Service) WithReasons(reasons Reasons) *Service {
	s.reasons = reasons
	return s
}

// Limits are the bounds of a batch that the service was made with.
func (s *Service) Limits() Limits { return s.limits }

// Accepted is the answer to a write.
type Accepted struct {
	// Job is the job in its current state.
	Job Job
	// Replayed reports that an earlier call under the same key did the work (the Idempotency-Replayed header).
	Replayed bool
}

// Submit accepts a batch as a new PENDING job. The same key with the same bytes returns the same job; with other bytes it
// is [CodeSubmissionKeyReused].
func (s *Service) Submit(ctx context.Context, owner Owner, key Key, text []byte) (Accepted, error) {
	payload, err := s.intake(OperationSubmit, key, text)
	if err != nil {
		return Accepted{}, err
	}
	n := NewJob{Owner: owner, ID: newID(), KeyHash: submissionKeyHash(owner, key), Payload: payload}
	j, inserted, sameBytes, err := s.store.Submit(ctx, n)
	switch {
	case err != nil:
		return Accepted{}, refusal(OperationSubmit, err)
	case inserted:
		s.observer.JobCreated(0)
		return Accepted{Job: j}, nil
	case !sameBytes:
		return Accepted{}, &Problem{Code: operationCodes[OperationSubmit].keyReused, Job: &j}
	default:
		return s.replayed(OperationSubmit, j), nil
	}
}

// Cancel makes a PENDING or RUNNING job CANCELLED for good, so that none of its effects remain. It may name a reason; none is
// [CancellationByOwner], and one that is not allowed is [CodeInvalidCancellationReason]. The same key with the same reason returns
// the same job; on a job that is terminal otherwise it is [CodeAlreadySucceeded], [CodeAlreadyFailed] or
// [CodeCancellationKeyReused].
func (s *Service) Cancel(ctx context.Context, owner Owner, id string, key Key, reason string) (Accepted, error) {
	if key.Missing() {
		return Accepted{}, Refuse(operationCodes[OperationCancel].keyRequired)
	}
	code, err := s.reasons.choose(reason)
	if err != nil {
		return Accepted{}, err
	}
	jobID := parseID(id)
	result, err := s.store.Cancel(ctx, owner, jobID, cancellationKeyHash(owner, jobID, key), code)
	if err != nil {
		return Accepted{}, refusal(OperationCancel, err)
	}
	if result.Transitioned {
		s.observer.JobEnded(StatusCancelled)
		return Accepted{Job: result.Job}, nil
	}
	if result.SameKey {
		return s.replayed(OperationCancel, result.Job), nil
	}
	return Accepted{}, &Problem{Code: cmp.Or(result.Job.CancelProblem(), CodeCancellationInProgress), Job: &result.Job}
}

// Replay makes a new PENDING job from a FAILED or CANCELLED source, given the source's exact bytes again. The same key with
// the same source and bytes returns the same new job.
func (s *Service) Replay(ctx context.Context, owner Owner, sourceID string, key Key, text []byte) (Accepted, error) {
	payload, err := s.intake(OperationReplay, key, text)
	if err != nil {
		return Accepted{}, err
	}
	n := NewJob{Owner: owner, ID: newID(), KeyHash: replayKeyHash(owner, key), Payload: payload}
	result, err := s.store.Replay(ctx, parseID(sourceID), n)
	switch {
	case err != nil:
		return Accepted{}, refusal(OperationReplay, err)
	case result.Created != nil:
		s.observer.JobCreated(result.Created.Generation())
		return Accepted{Job: *result.Created}, nil
	case result.Earlier != nil && result.SameIdentity:
		return s.replayed(OperationReplay, *result.Earlier), nil
	case result.Earlier != nil:
		return Accepted{}, &Problem{Code: operationCodes[OperationReplay].keyReused, Job: result.Earlier}
	default:
		return Accepted{}, &Problem{Code: replayRefusal(result), Job: &result.Source}
	}
}

// replayRefusal names why the database made no job from a source: first its state, then its bytes, then its generation
// (replay seed, "database authority", steps 4 and 5).
func replayRefusal(r ReplayResult) Code {
	code := r.Source.ReplayProblem()
	if !r.SameBytes && (code == "" || code == CodeReplayGenerationExhausted) {
		return CodeReplayPayloadMismatch
	}
	return cmp.Or(code, CodeReplayInProgress)
}

// Get returns one job of the owner, or [CodeJobNotFound].
func (s *Service) Get(ctx context.Context, owner Owner, id string) (Job, error) {
	jobID := parseID(id)
	jobs, err := s.store.Jobs(ctx, owner, []uuid.UUID{jobID})
	if err != nil {
		return Job{}, refusal(reading, err)
	}
	j, found := jobs[jobID]
	if !found {
		return Job{}, Refuse(CodeJobNotFound)
	}
	return j, nil
}

// Jobs returns those of the ids that the owner has, in one statement.
func (s *Service) Jobs(ctx context.Context, owner Owner, ids []uuid.UUID) (map[uuid.UUID]Job, error) {
	jobs, err := s.store.Jobs(ctx, owner, ids)
	return jobs, refusal(reading, err)
}

// CountByStatus counts the owner's jobs that pass the filter, of each status up to [MaxCount].
func (s *Service) CountByStatus(ctx context.Context, owner Owner, f Filter) (map[Status]Count, error) {
	counts, err := s.store.CountByStatus(ctx, owner, f)
	return counts, refusal(reading, err)
}

// intake checks size, key and payload, in the contract's order.
func (s *Service) intake(op Operation, key Key, text []byte) (Payload, error) {
	if len(text) > s.limits.MaxPayloadBytes {
		return Payload{}, Refuse(CodePayloadTooLarge)
	}
	if key.Missing() {
		return Payload{}, Refuse(operationCodes[op].keyRequired)
	}
	return ParsePayload(text, s.limits)
}

func (s *Service) replayed(op Operation, j Job) Accepted {
	s.observer.IdempotentReplay(op)
	return Accepted{Job: j, Replayed: true}
}

// refusal names a store's error as the problem that it is for an operation; what it does not know stays as it is.
func refusal(op Operation, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return Refuse(CodeJobNotFound)
	case errors.Is(err, ErrBusy):
		return Refuse(operationCodes[op].inProgress)
	case errors.Is(err, ErrUnavailable):
		return Refuse(CodeDatabaseUnavailable)
	default:
		return err
	}
}

// newID makes a version 7 UUID (RFC 9562): unique, and ordered by time.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// parseID reads an id in its canonical lower-case form. Anything else becomes the nil UUID, which no job has, so that a
// malformed id takes the same path to the same answer as an absent one.
func parseID(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return uuid.Nil
	}
	return id
}
