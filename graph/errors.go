package graph

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/model"
	"fencepost/internal/feed"
	"fencepost/internal/job"
)

// The values of extensions.code, by which clients tell errors apart. Those of requests that never reach a document are in
// refusal.go.
const (
	codeSyntax      = errcode.ParseFailed
	codeValidation  = errcode.ValidationFailed
	codeInput       = "BAD_USER_INPUT"
	codeTooComplex  = "QUERY_TOO_COMPLEX"
	codeNotFound    = "NOT_FOUND"
	codeTooMany     = "TOO_MANY_STREAMS"
	codeUnavailable = "UNAVAILABLE"
	codeTimeout     = "TIMEOUT"
	codeInternal    = "INTERNAL"
)

// ErrorCodes are the codes of errors in the answer to an operation, without those of problems.
var ErrorCodes = []string{
	codeSyntax, codeValidation, codeInput, codeTooComplex, codeNotFound, codeTooMany, codeUnavailable, codeTimeout, codeInternal,
}

// limitedError is the refusal of a write that the limiter did not allow.
type limitedError struct {
	*job.Problem
	wait time.Duration
}

// undecidedWait is how long a client should wait before it repeats a write that was not decided.
const undecidedWait = time.Second

// toProblem makes an expected refusal of a write the Problem of its result. What is no refusal stays an error.
func toProblem(ctx context.Context, err error) (*model.Problem, error) {
	if limited, ok := errors.AsType[limitedError](err); ok {
		noteProblem(ctx, limited.Code)
		return newProblem(limited.Problem, limited.wait), nil
	}
	p, ok := errors.AsType[*job.Problem](err)
	if !ok {
		return nil, err
	}
	noteProblem(ctx, p.Code)
	switch p.Code {
	case job.CodeSubmissionInProgress, job.CodeCancellationInProgress, job.CodeReplayInProgress, job.CodeDatabaseUnavailable:
		return newProblem(p, undecidedWait), nil
	default:
		return newProblem(p, 0), nil
	}
}

func newProblem(p *job.Problem, wait time.Duration) *model.Problem {
	definition := p.Code.Define()
	problem := &model.Problem{
		Code:      toProblemCode(p.Code),
		ErrorCode: string(p.Code),
		Type:      definition.Type(),
		Title:     definition.Title,
		Status:    toInt(definition.Status),
		Detail:    definition.Detail,
	}
	if wait > 0 {
		seconds := toInt(int(math.Ceil(wait.Seconds())))
		problem.RetryAfter = &seconds
	}
	if p.Job != nil {
		problem.RelatedJob = toJob(*p.Job)
	}
	return problem
}

func isNotFound(err error) bool {
	p, ok := errors.AsType[*job.Problem](err)
	return ok && p.Code == job.CodeJobNotFound
}

// errFixed marks the errors whose message and extensions were written here, so that the presenter lets them through.
var errFixed = errors.New("fixed text")

// fixedError is an error with a text of ours.
func fixedError(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Err: errFixed, Message: message, Extensions: map[string]any{"code": code}}
}

// presenter turns every error on its way out into a fixed text and a code. It keeps the path, and the place in the document
// where there is one, because those help a developer and repeat nothing but what the document itself says.
type presenter struct{ log *slog.Logger }

func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	found := graphql.DefaultErrorPresenter(ctx, err)
	shown := p.translate(ctx, found)
	shown.Locations = locations(ctx, found)
	if inField := graphql.GetFieldContext(ctx) != nil; inField {
		shown.Path = found.Path
	}
	return shown
}

func (p presenter) translate(ctx context.Context, err *gqlerror.Error) *gqlerror.Error {
	problem, refused := errors.AsType[*job.Problem](err)
	code := err.Extensions["code"]
	switch {
	case errors.Is(err, errFixed):
		return &gqlerror.Error{Message: err.Message, Extensions: err.Extensions}
	case refused:
		return problemError(problem)
	case code == codeSyntax:
		return fixedError(codeSyntax, "The document is not well-formed GraphQL.")
	case code == codeValidation && len(err.Path) > 0:
		return fixedError(codeInput, badVariable)
	case code == codeValidation:
		return fixedError(codeValidation, ruleText(err.Rule))
	case errors.Is(err, feed.ErrFull):
		return fixedError(codeTooMany, tooManyStreams)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fixedError(codeTimeout, "The operation took too long. Ask for less at once.")
	default:
		p.logInternal(ctx)
		return fixedError(codeInternal, "The server failed to answer this.")
	}
}

const tooManyStreams = "Too many streams are open. Close one that is no longer needed."

// problemError is a refusal where there is no Problem to tell it by: in a query or a subscription.
func problemError(p *job.Problem) *gqlerror.Error {
	code := codeInput
	switch p.Code {
	case job.CodeDatabaseUnavailable:
		code = codeUnavailable
	case job.CodeJobNotFound: // queries have null for it
		code = codeNotFound
	default:
	}
	shown := fixedError(code, p.Code.Define().Detail)
	shown.Extensions["errorCode"] = string(p.Code)
	return shown
}

// logInternal names the failed field as the schema does, and nothing that a client wrote.
func (p presenter) logInternal(ctx context.Context) {
	field := "none"
	if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Field.Field != nil {
		field = fc.Object + "." + fc.Field.Name
	}
	p.log.Error("graphql operation failed", "code", string(job.CodeInternalError), "field", field)
}

// locations are those of the error, of the variable it is about, or of the field it happened in.
func locations(ctx context.Context, err *gqlerror.Error) []gqlerror.Location {
	if len(err.Locations) > 0 {
		return err.Locations
	}
	if position := variablePosition(ctx, err.Path); position != nil {
		return []gqlerror.Location{{Line: position.Line, Column: position.Column}}
	}
	if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Field.Field != nil {
		return []gqlerror.Location{{Line: fc.Field.Position.Line, Column: fc.Field.Position.Column}}
	}
	return nil
}

// recovered reports a panic in a resolver like any internal error.
func recovered(context.Context, any) error { return errors.New("panic") }

// maxErrors is how many errors an answer holds at most.
const maxErrors = 10

// capErrors cuts the list of errors, so that a small request cannot ask for a large answer.
func capErrors(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if response != nil && len(response.Errors) > maxErrors {
		response.Errors = response.Errors[:maxErrors]
	}
	return response
}
