package graph

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"fencepost/graph/generated"
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
type plainType[T any] struct {
	// names are those of the type and then of its interfaces, on which fragments may be.
	names []string
	// leaves are the fields that have a scalar.
	leaves map[string]appender[*T]
	// jobs are the fields that have a job.
	jobs map[string]func(*T) *model.Job
}

var (
	plainJob         = plain[model.Job]()
	plainJobEdge     = plain[model.JobEdge]()
	plainLineageEdge = plain[model.LineageEdge]()
)

// plain reads off the generated model which fields an object type has: one that needs a resolver has none there.
func plain[T any]() plainType[T] {
	object := reflect.TypeFor[T]()
	definition := generated.NewExecutableSchema(generated.Config{}).Schema().Types[object.Name()]
	t := plainType[T]{
		names:  append([]string{definition.Name}, definition.Interfaces...),
		leaves: map[string]appender[*T]{},
		jobs:   map[string]func(*T) *model.Job{},
	}
	for i := range object.NumField() {
		name, _, _ := strings.Cut(object.Field(i).Tag.Get("json"), ",")
		if object.Field(i).Type == reflect.TypeFor[*model.Job]() {
			t.jobs[name] = func(from *T) *model.Job { return fieldOf(from, i).Interface().(*model.Job) }
		} else if write := appenderOf(object.Field(i).Type); write != nil {
			t.leaves[name] = func(to []byte, from *T) []byte { return write(to, fieldOf(from, i)) }
		}
	}
	return t
}

func fieldOf[T any](object *T, i int) reflect.Value { return reflect.ValueOf(object).Elem().Field(i) }

// appenderOf writes values of a type as gqlgen would, or is nil for a type that is left to gqlgen.
func appenderOf(t reflect.Type) appender[reflect.Value] {
	switch {
	case t.Kind() == reflect.Pointer:
		return optionally(appenderOf(t.Elem()))
	case t == reflect.TypeFor[time.Time]():
		return func(to []byte, v reflect.Value) []byte {
			return scalar.AppendDateTime(to, *v.Addr().Interface().(*time.Time))
		}
	case t.Kind() == reflect.String:
		return func(to []byte, v reflect.Value) []byte { return appendText(to, v.String()) }
	case t.Kind() == reflect.Int32:
		return func(to []byte, v reflect.Value) []byte { return strconv.AppendInt(to, v.Int(), 10) }
	case t.Kind() == reflect.Bool:
		return func(to []byte, v reflect.Value) []byte { return strconv.AppendBool(to, v.Bool()) }
	default:
		return nil
	}
}

// optionally writes what a pointer points to, or null.
func optionally(write appender[reflect.Value]) appender[reflect.Value] {
	if write == nil {
		return nil
	}
	return func(to []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(to, "null"...)
		}
		return write(to, v.Elem())
	}
}

// appendText appends text with what JSON escapes escaped.
func appendText(to []byte, text string) []byte {
	to, _ = jsontext.AppendQuote(to, text) // fails on what is not UTF-8, and writes U+FFFD in its place
	return to
}

// one is the JSON of an object, or the object itself when there is none or a selected field needs a resolver.
func (t plainType[T]) one(ctx context.Context, object *T) any {
	write := t.selected(ctx)
	if object == nil || write == nil {
		return object
	}
	return marshaler(write(nil, object))
}

// list is the JSON of a list, or the list itself when a selected field needs a resolver.
func (t plainType[T]) list(ctx context.Context, objects []*T) any {
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
func (t plainType[T]) selected(ctx context.Context) appender[*T] {
	return t.object(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections)
}

// object writes an object, or is nil when a selected field needs a resolver. Which fields are selected, after fragments,
// directives and repetitions, is decided where gqlgen decides it.
func (t plainType[T]) object(operation *graphql.OperationContext, selections ast.SelectionSet) appender[*T] {
	var keys []string
	var values []appender[*T]
	for _, field := range graphql.CollectFields(operation, selections, t.names) {
		value := t.field(operation, field)
		if value == nil {
			return nil
		}
		keys, values = append(keys, `"`+field.Alias+`":`), append(values, value)
	}
	return func(to []byte, from *T) []byte {
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
func (t plainType[T]) field(operation *graphql.OperationContext, field graphql.CollectedField) appender[*T] {
	if field.Name == "__typename" {
		return func(to []byte, _ *T) []byte { return appendText(to, t.names[0]) }
	}
	jobOf, ok := t.jobs[field.Name]
	if !ok {
		return t.leaves[field.Name]
	}
	write := plainJob.object(operation, field.Selections)
	if write == nil {
		return nil
	}
	return func(to []byte, from *T) []byte { return write(to, jobOf(from)) }
}
