// Package telemetry tells operators what the program does: Prometheus metrics, log lines, one observation a request, and
// OpenTelemetry traces for those who ask for them.
//
// Nothing that a client sent, and nothing that the database keeps, appears in any of it. Every metric label takes its
// values from a list that is known when the program starts; whatever is not on the list is counted as "other".
package telemetry
