// Package auth tells who is calling. A request carries a name and a password (HTTP Basic, RFC 7617); the pair is
// checked against an htpasswd file of bcrypt hashes, and the caller becomes a [job.Owner] in the request's context.
//
// Three costs are kept in check. A right credential is remembered in memory while it is in use, so that bcrypt is paid
// once and not on every request. A wrong one costs the same whether or not the name exists, so that time tells
// nothing. And the number of wrong ones is limited for each client address, so that a flood of guesses cannot take the
// processors.
//
// The file may be edited or replaced at any time: the change is noticed within a second, and everything remembered
// about the old file is forgotten with it. A change that breaks the file is logged and the last good file stays in
// force.
package auth
