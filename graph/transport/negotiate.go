package transport

import (
	"net/http"

	"fencepost/internal/mediatype"
)

// The media types of an answer.
const (
	// typeJSON is the older one. Its clients look for errors in the body, so a refused document is 200.
	typeJSON = mediatype.JSON
	// typeResponse is GraphQL's own (GraphQL over HTTP, section "Media types"). Its statuses mean what they say.
	typeResponse = "application/graphql-response+json"
	// typeEvents is for a stream of answers (HTML standard, section "Server-sent events").
	typeEvents = "text/event-stream"
)

// negotiate picks the media type of an answer: the one with the higher q-value. Between equals the type that was named wins
// over a wildcard, GraphQL's own type over application/json when both were named, and application/json when nothing was, as
// the audit of GraphQL over HTTP asks. It reports false when neither is acceptable.
func negotiate(header http.Header) (mediaType string, ok bool) {
	accept, _ := mediatype.ParseAccept(header.Values("Accept"))
	return negotiated(accept)
}

func negotiated(accept mediatype.Accept) (mediaType string, ok bool) {
	if accept.Everything() {
		return typeJSON, true
	}
	older, newer := accept.For(typeJSON), accept.For(typeResponse)
	switch {
	case older.Quality == 0 && newer.Quality == 0:
		return "", false
	case newer.Quality > older.Quality:
		return typeResponse, true
	case newer.Quality == older.Quality && newer.Exactness == mediatype.Exact:
		return typeResponse, true
	default:
		return typeJSON, true
	}
}

// onlyEvents reports whether an answer can be told by server-sent events alone. Clients that name that type beside a JSON
// type, as some do with every request, are answered with JSON.
func onlyEvents(header http.Header) bool {
	accept, _ := mediatype.ParseAccept(header.Values("Accept"))
	_, json := negotiated(accept)
	events := accept.For(typeEvents)
	return !json && events.Quality > 0 && events.Exactness > mediatype.Anything
}
