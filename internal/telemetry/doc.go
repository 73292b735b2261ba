// Package telemetry tells operators what the program does: Prometheus metrics, log lines, and one observation a request.
//
// Nothing that a client sent, and nothing that the database keeps, appears in any of it. Every metric label takes its
// values from a list that is known when the program starts; whatever is not on the list is counted as "other".
package telemetry
