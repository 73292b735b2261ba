// Package transport carries GraphQL operations over HTTP: it reads requests and writes answers, and knows nothing of jobs.
// A request passes the gate and then one of three transports:
//
//	gate.go       method, media type, size, cross-site requests
//	http.go       one JSON object, one answer with its status
//	events.go     one operation, a stream of answers as server-sent events
//	socket.go     many operations over one WebSocket; connection.go is its life, operation.go one of its operations,
//	              message.go the protocol
//
// All three read what is asked in request.go. What they have in common of streams is in stream.go, of answers in answer.go;
// negotiate.go picks the media type. refusal.go has every request that is refused, with status, code and text.
//
// gqlgen's own transports fail the audit of GraphQL over HTTP and the protocols of streams (docs/adr/0008 and 0021).
package transport
