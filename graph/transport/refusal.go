package transport

import (
	"net/http"

	"fencepost/graph/fault"
	"fencepost/graph/model"
)

// A refusal is a request that was not executed: what is told, and with which status.
type refusal struct {
	status  int
	code    model.ErrorCode
	message string
}

var (
	refusedJSON = refusal{
		http.StatusBadRequest, model.ErrorCodeBadRequest,
		"The request must be one JSON object in UTF-8 without repeated names, whose query is text.",
	}
	refusedParameters = refusal{
		http.StatusBadRequest, model.ErrorCodeBadRequest,
		"The URL must have the query as one parameter, and variables and extensions as JSON objects.",
	}
	refusedUnauthenticated = refusal{
		http.StatusUnauthorized, model.ErrorCodeUnauthenticated,
		"This needs valid Basic credentials.",
	}
	refusedCrossSite = refusal{
		http.StatusForbidden, model.ErrorCodeForbidden,
		"Requests from other sites are not accepted.",
	}
	refusedMethod = refusal{
		http.StatusMethodNotAllowed, model.ErrorCodeMethodNotAllowed,
		"The method is not allowed here. The Allow header lists those that are.",
	}
	refusedAccept = refusal{
		http.StatusNotAcceptable, model.ErrorCodeNotAcceptable,
		"The answer is application/graphql-response+json, application/json or text/event-stream.",
	}
	refusedStream = refusal{
		http.StatusBadRequest, model.ErrorCodeBadRequest,
		"A subscription is answered with Accept: text/event-stream, or over a WebSocket with the subprotocol graphql-transport-ws.",
	}
	refusedHandshake = refusal{
		http.StatusBadRequest, model.ErrorCodeBadRequest,
		"The WebSocket handshake is not one of RFC 6455.",
	}
	refusedSize = refusal{
		http.StatusRequestEntityTooLarge, model.ErrorCodePayloadTooLarge,
		"The request is larger than this server accepts.",
	}
	refusedMediaType = refusal{
		http.StatusUnsupportedMediaType, model.ErrorCodeUnsupportedMediaType,
		"The body must be application/json in UTF-8 without a content encoding.",
	}
)

// write sends the refusal in the form of a GraphQL answer.
func (f refusal) write(w http.ResponseWriter, mediaType string) {
	writeError(w, mediaType, f.status, fault.New(f.code, f.message))
}

// Unauthenticated answers a request that has no valid credentials, for the one who checks them.
var Unauthenticated http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	setHeaders(w)
	refusedUnauthenticated.write(w, typeJSON)
})
