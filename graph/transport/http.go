package transport

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// httpTransport answers one operation with one JSON object. It stands in for gqlgen's own GET and POST, which no setting
// makes pass the audit of GraphQL over HTTP (see the decision record on the transport).
type httpTransport struct{}

// Supports is true for what the gate lets through.
func (httpTransport) Supports(*http.Request) bool { return true }

// Do reads a request, executes it and writes the answer.
func (httpTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	mediaType, acceptable := negotiate(r.Header)
	if !acceptable {
		refusedAccept.write(w, typeJSON)
		return
	}
	params, refused := readParams(r)
	if refused != nil {
		refused.write(w, mediaType)
		return
	}
	execute(w, r, exec, params, mediaType)
}

func execute(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, params *graphql.RawParams, mediaType string) {
	ctx := r.Context()
	op, errs := exec.CreateOperationContext(ctx, params)
	if errs != nil {
		response := exec.DispatchError(graphql.WithOperationContext(ctx, op), errs)
		writeAnswer(w, mediaType, statusOf(mediaType, documentRefused), errorsOnly{Errors: response.Errors})
		return
	}
	if changesByGet(r, op) {
		refuseGet(w, mediaType)
		return
	}
	if op.Operation.Operation == ast.Subscription {
		refusedStream.write(w, mediaType)
		return
	}
	respond, ctx := exec.DispatchOperation(ctx, op)
	if response := respond(ctx); response != nil { // nil when the client has gone
		writeResponse(w, mediaType, response)
	}
}

// changesByGet reports whether a request must not be executed because a mere link can make it (GraphQL over HTTP, section
// "GET").
func changesByGet(r *http.Request, op *graphql.OperationContext) bool {
	return r.Method == http.MethodGet && op.Operation.Operation == ast.Mutation
}

func refuseGet(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Allow", http.MethodPost)
	refusedMethod.write(w, mediaType)
}
