// Package scalar converts the scalars that GraphQL does not have by itself.
package scalar

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"fencepost/internal/job"
)

// errNotDateTime has no part of the value in it, so that it can be logged.
var errNotDateTime = errors.New("not an RFC 3339 time in UTC with at most microseconds")

// MarshalDateTime writes a time as RFC 3339 text in UTC with exactly six digits after the seconds.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(AppendDateTime(nil, t)) })
}

// AppendDateTime appends what [MarshalDateTime] writes.
func AppendDateTime(to []byte, t time.Time) []byte {
	return append(job.AppendTime(append(to, '"'), t), '"')
}

// UnmarshalDateTime reads RFC 3339 text that ends in Z and has at most six digits after the seconds. Finer times are refused
// rather than rounded, because a rounded bound would keep other jobs than the client meant.
func UnmarshalDateTime(v any) (time.Time, error) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, errNotDateTime
	}
	t, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil || !strings.HasPrefix(job.FormatTime(t), strings.TrimSuffix(text, "Z")) { // an hour of one digit, a decimal comma
		return time.Time{}, errNotDateTime
	}
	return t, nil
}
