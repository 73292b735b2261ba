package auth

import (
	"encoding/base64"
	"net/http"
)

// credential is a well-formed name and password, not yet checked.
type credential struct{ name, password string }

// maxTokenBytes is the length of the longest well-formed credential in base64. Longer ones are not worth decoding.
var maxTokenBytes = base64.StdEncoding.EncodedLen(maxNameBytes + len(":") + maxPasswordBytes)

// credentialOf reads the Basic credential of a request (RFC 7617). There must be exactly one Authorization line: with
// two, whoever stands in front may have checked the other one. The password may hold colons, the name may not.
func credentialOf(r *http.Request) (credential, bool) {
	lines := r.Header.Values("Authorization")
	if len(lines) != 1 || len(lines[0]) > len("Basic ")+maxTokenBytes {
		return credential{}, false
	}
	name, password, ok := r.BasicAuth()
	if !ok || !validName(name) || len(password) > maxPasswordBytes || !printable(password) {
		return credential{}, false
	}
	return credential{name: name, password: password}, true
}
