package transport

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
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

// writeError sends one error, for a request that was not executed.
func writeError(w http.ResponseWriter, mediaType string, status int, err *gqlerror.Error) {
	writeAnswer(w, mediaType, status, errorsOnly{Errors: gqlerror.List{err}})
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

// setHeaders sets what every answer has.
func setHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", typeJSON+"; charset=utf-8") // also of the answer to a panic, which gqlgen writes
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
}
