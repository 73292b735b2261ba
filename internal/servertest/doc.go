// Package servertest is for tests only. It starts whole servers and workers in the process of a test, as pgtest starts
// databases, and calls them as a user of theirs.
package servertest
