package main

import (
	"context"
	"net/http"

	"github.com/Khan/genqlient/graphql"
	"github.com/coder/websocket"
)

// doer sends requests with credentials.
type doer struct{ header http.Header }

// Do sends a request.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", d.header.Get("Authorization"))
	return http.DefaultClient.Do(r)
}

// dialer opens the WebSockets of genqlient, which is made for another library.
type dialer struct{}

// DialContext opens a WebSocket.
func (dialer) DialContext(ctx context.Context, url string, header http.Header) (graphql.WSConn, error) {
	subprotocol := header.Get("Sec-WebSocket-Protocol")
	header.Del("Sec-WebSocket-Protocol")
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{subprotocol}})
	return socket{ctx, conn}, err
}

type socket struct {
	ctx context.Context
	*websocket.Conn
}

// Close ends the connection.
func (s socket) Close() error { return s.Conn.Close(websocket.StatusNormalClosure, "") }

// WriteMessage sends a text, and nothing for a close frame: Close does that.
func (s socket) WriteMessage(kind int, text []byte) error {
	if kind != int(websocket.MessageText) {
		return nil
	}
	return s.Write(s.ctx, websocket.MessageText, text)
}

// ReadMessage waits for a message.
func (s socket) ReadMessage() (int, []byte, error) {
	kind, text, err := s.Read(s.ctx)
	return int(kind), text, err
}
