package rest

import (
	"net/http"

	"fencepost/internal/mediatype"
)

// accepts reports whether a client takes a media type. A malformed Accept line takes nothing, and neither does a range that
// asks for a parameter other than UTF-8.
func accepts(header http.Header, mediaType string) bool {
	accept, wellFormed := mediatype.ParseAccept(header.Values("Accept"))
	return wellFormed && (accept.Everything() || accept.Plain().For(mediaType).Quality > 0)
}
