// Package graph is the GraphQL door: schema.graphqls over HTTP. It only translates. Every rule about jobs is in package job,
// and the REST door keeps the same ones.
//
// A request passes, from the outside in:
//
//	handler     puts all of this together, and wants an owner          handler.go
//	transport   one answer over HTTP, or a stream of them as           graph/transport
//	            server-sent events or over a WebSocket
//	guard       size, depth, validation, strict values, cost           graph/guard; what a field costs is in cost.go
//	scope       the owner, the batch loaders, the deadline             scope.go
//	resolvers   a call to the service and a mapping                    schema.resolvers.go, map.go
//	plain       jobs and lists of them, written in one go              plain.go
//
// Errors leave through errors.go alone, which lets nothing out but the fixed texts of package fault; observe.go tells of them.
// The tests here speak to the whole door over HTTP, on PostgreSQL; those in graph/transport and graph/guard need no job.
package graph

//go:generate go tool gqlgen generate
