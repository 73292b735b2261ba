// Package rest is the HTTP facade of Fencepost: it turns requests into calls of [job.Service] and what comes back into
// JSON or into a problem (RFC 9457). It decides nothing about jobs.
//
// # One way in
//
// Every request passes the same checks in the same order, so that a request which fails an early one learns nothing about
// a later one:
//
//	authenticate -> rate limit -> route and method -> Accept -> Content-Type -> size -> key -> body -> id -> database
//
// Everything under /api/ needs credentials, also a path that does not exist there and the OPTIONS method. The documents
// and the health checks do not.
//
// A path is compared with the routes exactly as it was sent, in its escaped form. Nothing is cleaned, decoded or
// redirected: a trailing slash, a doubled one, a dot segment or an escaped letter is another path, and not found.
//
// # What net/http answers itself
//
// A few requests never reach this package, since the server cannot read them as HTTP: a malformed request line, header or
// path escape and a missing or repeated Host (400), an Expect other than 100-continue (417), headers over the limit (431),
// an unknown transfer coding (501). Those answers are short, fixed, in text/plain, and close the connection. "OPTIONS *" is
// about the whole server, and is answered with an empty 200.
package rest
