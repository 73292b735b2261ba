package transport

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"fencepost/graph/fault"
)

// subprotocol is the language on a WebSocket: that of the npm package graphql-ws, not the older one which bears that name.
const subprotocol = "graphql-transport-ws"

// socketTransport carries many operations over one WebSocket. The client has authenticated, as for every request, in the
// handshake: a browser does so by itself on the pages of this server, so connection_init needs no payload.
type socketTransport struct{ Streams }

// Supports is true for a handshake.
func (socketTransport) Supports(r *http.Request) bool { return wantsWebSocket(r) }

func wantsWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// Do serves a connection until either side ends it.
func (t socketTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if !t.Places.Take(r.Context()) {
		writeError(w, typeJSON, http.StatusTooManyRequests, fault.TooManyStreams())
		return
	}
	defer t.Places.Give(r.Context())
	socket, err := websocket.Accept(handshake{w}, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the gate has compared the origins
	})
	if err != nil {
		refusedHandshake.write(w, typeJSON)
		return
	}
	if socket.Subprotocol() == "" {
		_ = socket.Close(closeSubprotocol.code, closeSubprotocol.reason)
		return
	}
	socket.SetReadLimit(maxMessage)
	newConnection(t, socket, r.Header, exec).serve(r.Context())
}

// handshake withholds the library's text about a handshake that fails, which repeats parts of the request.
type handshake struct{ http.ResponseWriter }

// WriteHeader only lets the status of success pass.
func (h handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write drops the text.
func (handshake) Write(text []byte) (int, error) { return len(text), nil }

// Unwrap is how the library finds the connection.
func (h handshake) Unwrap() http.ResponseWriter { return h.ResponseWriter }
