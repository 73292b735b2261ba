// Package cli is the client's part of the program: "fencepost job" and its commands, which do over the REST API what a
// person or a script asks for. Their exit codes name what went wrong.
package cli
