package graph

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// The media types of an answer.
const (
	// typeJSON is the older one. Its clients look for errors in the body, so a refused document is 200.
	typeJSON = "application/json"
	// typeResponse is GraphQL's own (GraphQL over HTTP, section "Media types"). Its statuses mean what they say.
	typeResponse = "application/graphql-response+json"
	// typeEvents is for a stream of answers (HTML standard, section "Server-sent events").
	typeEvents = "text/event-stream"
)

// A refusal is a request that was not executed: what is told, and with which status.
type refusal struct {
	status  int
	code    string
	message string
}

var (
	refusedJSON = refusal{
		http.StatusBadRequest, "BAD_REQUEST",
		"The request must be one JSON object in UTF-8 without repeated names, whose query is text.",
	}
	refusedParameters = refusal{
		http.StatusBadRequest, "BAD_REQUEST",
		"The URL must have the query as one parameter, and variables and extensions as JSON objects.",
	}
	refusedUnauthenticated = refusal{
		http.StatusUnauthorized, "UNAUTHENTICATED",
		"This needs valid Basic credentials.",
	}
	refusedCrossSite = refusal{
		http.StatusForbidden, "FORBIDDEN",
		"Requests from other sites are not accepted.",
	}
	refusedMethod = refusal{
		http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED",
		"The method is not allowed here. The Allow header lists those that are.",
	}
	refusedAccept = refusal{
		http.StatusNotAcceptable, "NOT_ACCEPTABLE",
		"The answer is application/graphql-response+json, application/json or text/event-stream.",
	}
	refusedStream = refusal{
		http.StatusBadRequest, "BAD_REQUEST",
		"A subscription is answered with Accept: text/event-stream, or over a WebSocket with the subprotocol graphql-transport-ws.",
	}
	refusedHandshake = refusal{
		http.StatusBadRequest, "BAD_REQUEST",
		"The WebSocket handshake is not one of RFC 6455.",
	}
	refusedTooMany = refusal{
		http.StatusTooManyRequests, codeTooMany,
		tooManyStreams,
	}
	refusedSize = refusal{
		http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE",
		"The request is larger than this server accepts.",
	}
	refusedMediaType = refusal{
		http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE",
		"The body must be application/json in UTF-8 without a content encoding.",
	}
)

// statusOf is the one place where the kind of an answer becomes a status. A refusal of the request itself has its status
// under either type. For a document that is not executed the audit of GraphQL over HTTP decides: 200 under application/json
// and 400 under the newer type.
func statusOf(mediaType string, kind answerKind) int {
	if kind == documentRefused && mediaType == typeResponse {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// answerKind tells the answers apart that have no refusal of the request.
type answerKind int

const (
	// executed: there is data, perhaps null, and perhaps there are errors.
	executed answerKind = iota
	// documentRefused: the document or its variables are at fault, so there is no data.
	documentRefused
)

// write sends the refusal in the form of a GraphQL answer.
func (f refusal) write(w http.ResponseWriter, mediaType string) {
	writeAnswer(w, mediaType, f.status, errorsOnly{Errors: gqlerror.List{fixedError(f.code, f.message)}})
}

// answerOf leaves out the data of an answer that has none, because nothing was executed.
func answerOf(response *graphql.Response) any {
	if response.Data == nil {
		return errorsOnly{Errors: response.Errors}
	}
	return response
}

// errorsOnly is an answer without execution. It has no data member at all (GraphQL specification, "Response Format").
type errorsOnly struct {
	Errors gqlerror.List `json:"errors"`
}

// writeAnswer can only fail when the connection does, since texts and gqlgen's own JSON are always JSON.
func writeAnswer(w http.ResponseWriter, mediaType string, status int, answer any) {
	writeHead(w, mediaType, status)
	_ = json.NewEncoder(w).Encode(answer)
}

// writeResponse sends what has been executed. When there is nothing but data, gqlgen's own JSON goes out as it is, since
// encoding/json would check and copy it once more.
func writeResponse(w http.ResponseWriter, mediaType string, response *graphql.Response) {
	status := statusOf(mediaType, executed)
	if len(response.Errors) > 0 || len(response.Extensions) > 0 {
		writeAnswer(w, mediaType, status, response)
		return
	}
	writeHead(w, mediaType, status)
	_, _ = io.WriteString(w, `{"data":`)
	_, _ = w.Write(response.Data)
	_, _ = io.WriteString(w, "}\n")
}

func writeHead(w http.ResponseWriter, mediaType string, status int) {
	w.Header().Set("Content-Type", mediaType+"; charset=utf-8")
	w.WriteHeader(status)
}

// Unauthenticated answers a request that has no valid credentials, for the one who checks them.
var Unauthenticated http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	setHeaders(w)
	refusedUnauthenticated.write(w, typeJSON)
})

// setHeaders sets what every answer has.
func setHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", typeJSON+"; charset=utf-8") // also of the answer to a panic, which gqlgen writes
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
}
