package rest

import (
	"net/http"
	"strings"

	"github.com/elnormous/contenttype"
)

// accepts reports whether a client takes a media type (RFC 9110 section 12.5.1). No Accept line, or an empty one, takes
// everything; a malformed one takes nothing.
func accepts(header http.Header, mediaType string) bool {
	ranges := strings.Join(header.Values("Accept"), ",")
	if strings.TrimSpace(ranges) == "" {
		return true
	}
	available := []contenttype.MediaType{
		contenttype.NewMediaType(mediaType),
		contenttype.NewMediaType(mediaType + "; charset=utf-8"), // what JSON and YAML always are, for those who say so
	}
	_, _, err := contenttype.GetAcceptableMediaTypeFromHeader(ranges, available)
	return err == nil
}
