package graph

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/graph/model"
	"fencepost/graph/scalar"
)

// writePlain is a field middleware. Where it can, it answers with the JSON of a value instead of the value.
//
// gqlgen resolves each field of each object by itself, with some twelve allocations, and each object of a list on a goroutine
// of its own. For a lineage of a hundred jobs that is nearly all the work there is. So a job, and a list of jobs or edges, is
// written in one go, unless a field is selected in it that needs a resolver.
func writePlain(ctx context.Context, next graphql.Resolver) (any, error) {
	value, err := next(ctx)
	switch v := value.(type) {
	case *model.Job:
		return plainJob.one(ctx, v), err
	case []*model.Job:
		return plainJob.list(ctx, v), err
	case []*model.JobEdge:
		return plainJobEdge.list(ctx, v), err
	case []*model.LineageEdge:
		return plainLineageEdge.list(ctx, v), err
	default:
		return value, err
	}
}

// appender appends a value as JSON.
type appender[T any] func(to []byte, from T) []byte

// plainType has the fields of an object type that need no resolver. A field is in one of its two maps, or left to gqlgen.
type plainType[T comparable] struct {
	// names are those of the type and then of its interfaces, on which fragments may be.
	names []string
	// leaves are the fields that have a scalar.
	leaves map[string]appender[T]
	// jobs are the fields that have a job.
	jobs map[string]func(T) *model.Job
}

// one is the JSON of an object, or the object itself when there is none or a selected field needs a resolver.
func (t plainType[T]) one(ctx context.Context, object T) any {
	var none T
	write := t.selected(ctx)
	if object == none || write == nil {
		return object
	}
	return marshaler(write(nil, object))
}

// list is the JSON of a list, or the list itself when a selected field needs a resolver.
func (t plainType[T]) list(ctx context.Context, objects []T) any {
	write := t.selected(ctx)
	if write == nil {
		return objects
	}
	text := []byte{'['}
	for i, object := range objects {
		if i > 0 {
			text = append(text, ',')
		}
		if i == 1 { // the others are about as long as the first one
			text = slices.Grow(text, len(text)*len(objects))
		}
		text = write(text, object)
	}
	return marshaler(append(text, ']'))
}

// marshaler is what gqlgen takes in the place of a value. It writes JSON that is ready.
func marshaler(text []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(text) })
}

// selected writes what is selected below the field that is being resolved.
func (t plainType[T]) selected(ctx context.Context) appender[T] {
	return t.object(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections)
}

// object writes an object, or is nil when a selected field needs a resolver. Which fields are selected, after fragments,
// directives and repetitions, is decided where gqlgen decides it.
func (t plainType[T]) object(operation *graphql.OperationContext, selections ast.SelectionSet) appender[T] {
	var keys []string
	var values []appender[T]
	for _, field := range graphql.CollectFields(operation, selections, t.names) {
		value := t.field(operation, field)
		if value == nil {
			return nil
		}
		keys, values = append(keys, `"`+field.Alias+`":`), append(values, value)
	}
	return func(to []byte, from T) []byte {
		to = append(to, '{')
		for i, value := range values {
			if i > 0 {
				to = append(to, ',')
			}
			to = value(append(to, keys[i]...), from)
		}
		return append(to, '}')
	}
}

// field writes the value of a field, or is nil when that needs a resolver.
func (t plainType[T]) field(operation *graphql.OperationContext, field graphql.CollectedField) appender[T] {
	if field.Name == "__typename" {
		return func(to []byte, _ T) []byte { return appendText(to, t.names[0]) }
	}
	jobOf, ok := t.jobs[field.Name]
	if !ok {
		return t.leaves[field.Name]
	}
	write := plainJob.object(operation, field.Selections)
	if write == nil {
		return nil
	}
	return func(to []byte, from T) []byte { return write(to, jobOf(from)) }
}

var plainJob = plainType[*model.Job]{
	names: []string{"Job", "Node"},
	leaves: map[string]appender[*model.Job]{
		"id":               func(to []byte, j *model.Job) []byte { return appendText(to, j.ID) },
		"status":           func(to []byte, j *model.Job) []byte { return appendText(to, j.Status) },
		"attemptCount":     func(to []byte, j *model.Job) []byte { return appendInt(to, j.AttemptCount) },
		"recordCount":      func(to []byte, j *model.Job) []byte { return appendInt(to, j.RecordCount) },
		"failureCode":      func(to []byte, j *model.Job) []byte { return appendOptional(to, j.FailureCode, appendText) },
		"cancellationCode": func(to []byte, j *model.Job) []byte { return appendOptional(to, j.CancellationCode, appendText) },
		"createdAt":        func(to []byte, j *model.Job) []byte { return scalar.AppendDateTime(to, j.CreatedAt) },
		"updatedAt":        func(to []byte, j *model.Job) []byte { return scalar.AppendDateTime(to, j.UpdatedAt) },
		"cancelledAt":      func(to []byte, j *model.Job) []byte { return appendOptional(to, j.CancelledAt, scalar.AppendDateTime) },
		"replayGeneration": func(to []byte, j *model.Job) []byte { return appendInt(to, j.ReplayGeneration) },
		"canCancel":        func(to []byte, j *model.Job) []byte { return strconv.AppendBool(to, j.CanCancel) },
		"cancelProblem":    func(to []byte, j *model.Job) []byte { return appendOptional(to, j.CancelProblem, appendText) },
		"canReplay":        func(to []byte, j *model.Job) []byte { return strconv.AppendBool(to, j.CanReplay) },
		"replayProblem":    func(to []byte, j *model.Job) []byte { return appendOptional(to, j.ReplayProblem, appendText) },
	},
}

var plainJobEdge = plainType[*model.JobEdge]{
	names: []string{"JobEdge"},
	leaves: map[string]appender[*model.JobEdge]{
		"cursor": func(to []byte, e *model.JobEdge) []byte { return appendText(to, e.Cursor) },
	},
	jobs: map[string]func(*model.JobEdge) *model.Job{
		"node": func(e *model.JobEdge) *model.Job { return e.Node },
	},
}

var plainLineageEdge = plainType[*model.LineageEdge]{
	names: []string{"LineageEdge"},
	leaves: map[string]appender[*model.LineageEdge]{
		"generation": func(to []byte, e *model.LineageEdge) []byte { return appendInt(to, e.Generation) },
	},
	jobs: map[string]func(*model.LineageEdge) *model.Job{
		"source":  func(e *model.LineageEdge) *model.Job { return e.Source },
		"derived": func(e *model.LineageEdge) *model.Job { return e.Derived },
	},
}

// appendText appends a name, an id, a code or a cursor. None of them has a character that JSON escapes.
func appendText[S ~string](to []byte, text S) []byte {
	return append(append(append(to, '"'), text...), '"')
}

func appendInt(to []byte, n int32) []byte { return strconv.AppendInt(to, int64(n), 10) }

func appendOptional[T any](to []byte, value *T, write appender[T]) []byte {
	if value == nil {
		return append(to, "null"...)
	}
	return write(to, *value)
}
