// Package mediatype reads the two headers in which a request names media types: Content-Type, what it brings, and Accept, what
// it takes (RFC 9110 sections 8.3 and 12.5.1). Both doors use it, so that both mean the same by them.
package mediatype

import (
	"mime"
	"strings"
)

// JSON is the media type of every body that a door takes.
const JSON = "application/json"

// IsJSON reports whether Content-Type lines name JSON in UTF-8. There must be one line: of two, nobody knows which one a proxy
// went by.
func IsJSON(contentType []string) bool {
	if len(contentType) != 1 {
		return false
	}
	name, parameters, err := mime.ParseMediaType(contentType[0])
	charset, given := parameters["charset"]
	return err == nil && name == JSON && (!given || isUTF8(charset))
}

// inUTF8 reports whether parameters ask for nothing, or for UTF-8 alone.
func inUTF8(parameters map[string]string) bool {
	for name, value := range parameters {
		if name != "charset" || !isUTF8(value) {
			return false
		}
	}
	return true
}

func isUTF8(charset string) bool { return strings.EqualFold(charset, "utf-8") }
