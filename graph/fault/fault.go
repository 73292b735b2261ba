// Package fault makes the errors of GraphQL whose words may leave: each has a code of the schema and a text that was written
// in this program. Errors from anywhere else are told as one of these (see package graph, errors.go).
package fault

import (
	"errors"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"fencepost/graph/model"
)

// errFixed marks the errors that were made here.
var errFixed = errors.New("fixed text")

// New is an error with a code, by which clients tell errors apart, and a text of ours.
func New(code model.ErrorCode, text string) *gqlerror.Error {
	return &gqlerror.Error{Err: errFixed, Message: text, Extensions: map[string]any{"code": string(code)}}
}

// Is reports whether an error was made here, so that it may leave as it is.
func Is(err error) bool { return errors.Is(err, errFixed) }

// TooManyStreams refuses one more subscription or WebSocket.
func TooManyStreams() *gqlerror.Error {
	return New(model.ErrorCodeTooManyStreams, "Too many streams are open. Close one that is no longer needed.")
}

// Internal tells that the server failed, and nothing else.
func Internal() *gqlerror.Error {
	return New(model.ErrorCodeInternal, "The server failed to answer this.")
}
