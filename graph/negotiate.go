package graph

import (
	"mime"
	"strconv"
	"strings"
)

// preference is how much a client wants a media type, and how exactly it named it.
type preference struct {
	quality     float64
	specificity int
}

// negotiate picks the media type of an answer (RFC 9110 section 12.5.1): the one with the higher q-value, where the most
// specific range decides. Between equals the type that was named wins over a wildcard, GraphQL's own type over
// application/json when both were named, and application/json when nothing was, as the audit of GraphQL over HTTP asks.
// It reports false when neither is acceptable.
func negotiate(accept []string) (mediaType string, ok bool) {
	ranges := strings.Join(accept, ",")
	if strings.TrimSpace(ranges) == "" {
		return typeJSON, true
	}
	older, newer := preferenceFor(typeJSON, ranges), preferenceFor(typeResponse, ranges)
	if older.quality == 0 && newer.quality == 0 {
		return "", false
	}
	if newer.quality != older.quality {
		return pick(newer.quality > older.quality), true
	}
	return pick(newer.specificity == exact && older.specificity <= exact), true
}

// onlyEvents reports whether an answer can be told by server-sent events alone. Clients that name that type beside a JSON
// type, as some do with every request, are answered with JSON.
func onlyEvents(accept []string) bool {
	_, json := negotiate(accept)
	events := preferenceFor(typeEvents, strings.Join(accept, ","))
	return !json && events.quality > 0 && events.specificity > anything
}

func pick(newer bool) string {
	if newer {
		return typeResponse
	}
	return typeJSON
}

// How exactly a range names a type.
const (
	unnamed = iota
	anything
	anySubtype
	exact
)

func preferenceFor(mediaType, ranges string) preference {
	var best preference
	for part := range strings.SplitSeq(ranges, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		p := preference{quality: quality(parameters["q"]), specificity: specificityOf(name, mediaType)}
		if p.specificity > best.specificity || p.specificity == best.specificity && p.quality > best.quality {
			best = p
		}
	}
	if best.specificity == unnamed {
		return preference{}
	}
	return best
}

func specificityOf(name, mediaType string) int {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch name {
	case mediaType:
		return exact
	case kind + "/*":
		return anySubtype
	case "*/*":
		return anything
	default:
		return unnamed
	}
}

// quality is 1 when there is none, and 0 when it is malformed.
func quality(text string) float64 {
	if text == "" {
		return 1
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}
