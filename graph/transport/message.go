package transport

import (
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of messages (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md).
const (
	messageInit      = "connection_init"
	messageAck       = "connection_ack"
	messagePing      = "ping"
	messagePong      = "pong"
	messageSubscribe = "subscribe"
	messageNext      = "next"
	messageError     = "error"
	messageComplete  = "complete"
)

// A closure is why the server closes a connection.
type closure struct {
	code   websocket.StatusCode
	reason string
}

// The closures of the protocol, and one of WebSocket itself.
var (
	closeStopping     = closure{websocket.StatusGoingAway, "The server is stopping"}
	closeInvalid      = closure{4400, "Invalid message"}
	closeUnauthorized = closure{4401, "Unauthorized"}
	closeSubprotocol  = closure{4406, "Subprotocol not acceptable"}
	closeInitTimeout  = closure{4408, "Connection initialisation timeout"}
	closeDuplicate    = closure{4409, "Subscriber already exists"}
	closeSecondInit   = closure{4429, "Too many initialisation requests"}
)

// maxMessage is the greatest length of a message in bytes. Larger batches are submitted by POST.
const maxMessage = 64 << 10

// received is a message from the client.
type received struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Payload jsontext.Value `json:"payload"`
}

// parse reads a message, as strictly as the body of a request.
func parse(kind websocket.MessageType, text []byte) (received, bool) {
	var m received
	if kind != websocket.MessageText || json.Unmarshal(text, &m) != nil {
		return received{}, false
	}
	switch m.Type {
	case messageInit, messagePing, messagePong:
		return m, len(m.Payload) == 0 || m.Payload.Kind() == 'n' || m.Payload.Kind() == '{'
	case messageSubscribe, messageComplete:
		return m, m.ID != ""
	default:
		return m, false
	}
}

// parameters reads what a subscribe message asks for.
func (m received) parameters() (parameters, bool) {
	var p parameters
	err := json.Unmarshal(m.Payload, &p, exactNumbers)
	return p, err == nil && p.Query != nil
}

// sent is a message to the client.
type sent struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Payload any    `json:"payload,omitempty"`
}
