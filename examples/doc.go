// Package examples holds what the documents show. Its tests do what a reader would do: they start the server with the
// command that a document names, run its commands, and compare what these print with what the document says.
package examples
