// Package graph is the GraphQL door: schema.graphqls over HTTP. It only translates. Every rule about jobs is in package job,
// and the REST door keeps the same ones.
//
// A request passes, from the outside in:
//
//	gate        method, media type, size, cross-site requests          handler.go
//	transport   Accept, one strict JSON object, the status             transport.go, params.go, negotiate.go
//	            or a stream of answers: server-sent events, WebSocket  events.go, socket.go, connection.go
//	admission   the extent of the document, before anything walks it   admission.go, guard.go
//	            validation without suggestions, strict values          rules.go, variables.go
//	            the cost: fields times page sizes                      cost.go
//	scope       the owner, the batch loaders, the deadline             scope.go
//	resolvers   a call to the service and a mapping                    schema.resolvers.go, map.go
//	plain       jobs and lists of them, written in one go              plain.go
//
// Errors leave through errors.go alone, which lets nothing out but fixed texts.
package graph

//go:generate go tool gqlgen generate
