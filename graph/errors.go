package graph

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vikstrous/dataloadgen"

	"fencepost/graph/fault"
	"fencepost/graph/guard"
	"fencepost/graph/model"
	"fencepost/internal/feed"
	"fencepost/internal/job"
)

// ErrorCodes are the codes of errors in the answer to an operation, without those of problems and of refused requests.
var ErrorCodes = []string{
	string(model.ErrorCodeGraphqlParseFailed), string(model.ErrorCodeGraphqlValidationFailed), string(model.ErrorCodeBadUserInput),
	string(model.ErrorCodeQueryTooComplex), string(model.ErrorCodeNotFound), string(model.ErrorCodeTooManyStreams),
	string(model.ErrorCodeUnavailable), string(model.ErrorCodeTimeout), string(model.ErrorCodeInternal),
}

// limitedError is the refusal of a write that the limiter did not allow.
type limitedError struct {
	*job.Problem
	wait time.Duration
}

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
	return newProblem(p, p.Code.Define().RetryAfter), nil
}

func newProblem(p *job.Problem, wait time.Duration) *model.Problem {
	definition := p.Code.Define()
	problem := &model.Problem{
		Code:      toEnum[model.ProblemCode](p.Code),
		ErrorCode: string(p.Code),
		Type:      definition.Type(),
		Title:     definition.Title,
		Status:    toInt(definition.Status),
		Detail:    definition.Detail,
		Allowed:   p.Allowed,
		Errors:    toRecordErrors(p.Errors),
	}
	if p.Offset != nil {
		offset := toInt(int(*p.Offset))
		problem.Offset = &offset
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

// isNotFound reports whether there is no such job, or none any more: a purge may have come since the answer was begun.
func isNotFound(err error) bool {
	p, ok := errors.AsType[*job.Problem](err)
	return ok && p.Code == job.CodeJobNotFound || errors.Is(err, dataloadgen.ErrNotFound)
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
	explained := guard.Explain(err)
	switch {
	case fault.Is(err):
		return &gqlerror.Error{Message: err.Message, Extensions: err.Extensions}
	case refused:
		return problemError(problem)
	case explained != nil:
		return explained
	case errors.Is(err, feed.ErrFull):
		return fault.TooManyStreams()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.New(model.ErrorCodeTimeout, "The operation took too long. Ask for less at once.")
	default:
		p.logInternal(ctx)
		return fault.Internal()
	}
}

// problemError is a refusal where there is no Problem to tell it by: in a query or a subscription.
func problemError(p *job.Problem) *gqlerror.Error {
	code := model.ErrorCodeBadUserInput
	switch p.Code {
	case job.CodeDatabaseUnavailable:
		code = model.ErrorCodeUnavailable
	case job.CodeJobNotFound: // queries have null for it
		code = model.ErrorCodeNotFound
	default:
	}
	shown := fault.New(code, p.Code.Define().Detail)
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
	if position := guard.VariablePosition(ctx, err.Path); position != nil {
		return []gqlerror.Location{{Line: position.Line, Column: position.Column}}
	}
	if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Field.Field != nil {
		return []gqlerror.Location{{Line: fc.Field.Position.Line, Column: fc.Field.Position.Column}}
	}
	return nil
}

// failed is what is told of a panic outside of the resolvers.
func (p presenter) failed(ctx context.Context, cause any) *gqlerror.Error {
	return p.present(ctx, recovered(ctx, cause))
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
