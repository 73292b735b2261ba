package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// eventTransport answers with server-sent events, in the distinct connections mode of the graphql-sse protocol: one request
// for one operation, a "next" event for each answer, and "complete" behind the last one. A stream that breaks off without it
// is to be asked for again.
type eventTransport struct{ Streams }

// Supports is true when the client takes nothing else.
func (eventTransport) Supports(r *http.Request) bool { return onlyEvents(r.Header) }

// Do executes one operation. What is wrong with the request has a status; what is wrong with the document is an event,
// since a browser tells its program nothing of a status.
func (t eventTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	params, refused := readParams(r)
	if refused != nil {
		refused.write(w, typeJSON)
		return
	}
	ctx, end := context.WithCancel(r.Context())
	var keeper sync.WaitGroup
	defer keeper.Wait()
	defer end()
	op, errs := exec.CreateOperationContext(ctx, params)
	if errs == nil && changesByGet(r, op) {
		refuseGet(w, typeJSON)
		return
	}
	stream := t.open(w, end)
	keeper.Go(func() { t.keep(ctx, stream) })
	respond, answering := dispatch(ctx, exec, op, errs)
	for response := respond(answering); response != nil; response = respond(answering) {
		stream.next(response)
	}
	if ctx.Err() == nil {
		stream.write("event: complete\ndata:\n\n") // browsers pass over an event without data
	}
}

// eventStream is one answer as it goes out, written to by the operation and by the keeper.
type eventStream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	end     context.CancelFunc
}

// open begins a stream.
func (t eventTransport) open(w http.ResponseWriter, end context.CancelFunc) *eventStream {
	s := &eventStream{w: w, control: http.NewResponseController(w), timeout: t.ClientTimeout, end: end}
	w.Header().Set("Content-Type", typeEvents+"; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // so that nginx passes on each event at once
	s.write(comment)
	return s
}

// comment is what clients pass over.
const comment = ":\n\n"

// keep shows the client, and every proxy between, that the stream lives, and ends it when the server stops.
func (t eventTransport) keep(ctx context.Context, s *eventStream) {
	ticker := time.NewTicker(t.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.Closing:
			s.end()
			return
		case <-ticker.C:
			s.write(comment)
		}
	}
}

func (s *eventStream) next(response *graphql.Response) {
	answer, _ := json.Marshal(answerOf(response)) // gqlgen's own JSON always is JSON
	s.write("event: next\ndata: " + string(answer) + "\n\n")
}

// write ends the stream when the client does not take what is written. The server's own timeout is for whole answers.
func (s *eventStream) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
	_, err := io.WriteString(s.w, text)
	if errors.Join(err, s.control.Flush()) != nil {
		s.end()
	}
}
