package mediatype

import (
	"mime"
	"strconv"
	"strings"
)

// Accept is what a client takes: the ranges of media types in its Accept lines. Without any it takes everything.
type Accept []mediaRange

// mediaRange is one of them, as in "application/*;q=0.5".
type mediaRange struct {
	name    string
	quality float64
	plain   bool // no parameter is asked for besides UTF-8
}

// ParseAccept reads Accept lines. It passes over what is malformed, and reports whether nothing was.
func ParseAccept(lines []string) (accept Accept, wellFormed bool) {
	text := strings.Join(lines, ",")
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	accept, wellFormed = Accept{}, true
	for _, part := range elements(text) {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			wellFormed = false
			continue
		}
		quality, valid := parseQuality(parameters["q"])
		wellFormed = wellFormed && valid
		delete(parameters, "q")
		accept = append(accept, mediaRange{name, quality, inUTF8(parameters)})
	}
	return accept, wellFormed
}

// elements splits a list at its commas, besides those in quotes (RFC 9110 section 5.6).
func elements(list string) []string {
	var found []string
	begin, quoted := 0, false
	for i := 0; i < len(list); i++ {
		switch {
		case quoted && list[i] == '\\':
			i++ // whatever comes next is text
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			found = append(found, list[begin:i])
			begin = i + 1
		}
	}
	return append(found, list[begin:])
}

// parseQuality is 1 when there is none, and 0 when it is malformed.
func parseQuality(text string) (quality float64, valid bool) {
	if text == "" {
		return 1, true
	}
	quality, err := strconv.ParseFloat(text, 64)
	if err != nil || !(quality >= 0 && quality <= 1) {
		return 0, false
	}
	return quality, true
}

// Everything reports whether the client did not say what it takes.
func (a Accept) Everything() bool { return a == nil }

// Plain leaves out the ranges that ask for a parameter other than UTF-8, which all text of the program is in.
func (a Accept) Plain() Accept {
	plain := Accept{}
	for _, r := range a {
		if r.plain {
			plain = append(plain, r)
		}
	}
	return plain
}

// Preference is how much a client wants a media type, from 0 to 1, and how exactly it named the type.
type Preference struct {
	Quality   float64
	Exactness Exactness
}

// Exactness is how exactly a range names a media type.
type Exactness int

// From not at all over "*/*" and "application/*" to the name itself.
const (
	Unnamed Exactness = iota
	Anything
	AnySubtype
	Exact
)

// For is the preference for a media type: the most exact range decides (RFC 9110 section 12.5.1).
func (a Accept) For(mediaType string) Preference {
	var best Preference
	for _, r := range a {
		p := Preference{r.quality, r.exactness(mediaType)}
		if p.Exactness > best.Exactness || p.Exactness == best.Exactness && p.Quality > best.Quality {
			best = p
		}
	}
	if best.Exactness == Unnamed {
		return Preference{}
	}
	return best
}

func (r mediaRange) exactness(mediaType string) Exactness {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch r.name {
	case mediaType:
		return Exact
	case kind + "/*":
		return AnySubtype
	case "*/*":
		return Anything
	default:
		return Unnamed
	}
}
