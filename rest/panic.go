package rest

import (
	"fmt"
	"runtime"
	"strings"
)

// panicError stands for a panic. It says where, and not what: the value of a panic may hold anything.
type panicError struct{ at string }

// Error names the function and the line.
func (p panicError) Error() string { return "panic at " + p.at }

// panicOrigin is where the panic that is being recovered began, past the frames of the runtime. It is no stack trace, since
// those print arguments.
func panicOrigin() string {
	callers := make([]uintptr, 16)
	// Skipped are runtime.Callers, this function and the deferred one.
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	frame, more := frames.Next()
	for more && strings.HasPrefix(frame.Function, "runtime.") {
		frame, more = frames.Next()
	}
	return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
}
