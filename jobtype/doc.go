// Package jobtype holds the words that a job is told in: its statuses, the codes of its end, and the codes of refusals with
// all that is fixed about them. The server and its clients read the same lists here. It imports the standard library alone.
package jobtype
