package rest

import (
	"net/http"
	"regexp"

	"github.com/dunglas/httpsfv"

	"fencepost/internal/job"
)

// bareKey is the legacy form: without quotes, and with nothing in it that would need them.
var bareKey = regexp.MustCompile(`^[A-Za-z0-9._~:-]+$`)

// idempotencyKey reads the key of a write: one field line with an RFC 9651 String, or the same key in its bare form. No
// line, an empty one and an empty String are the zero key. Parameters must be well-formed and mean nothing.
func idempotencyKey(header http.Header) (job.Key, error) {
	lines := header.Values("Idempotency-Key")
	switch {
	case len(lines) == 0:
		return job.Key{}, nil
	case len(lines) > 1:
		return job.Key{}, job.Refuse(job.CodeInvalidIdempotencyKey)
	case lines[0] == "" || bareKey.MatchString(lines[0]):
		return job.ParseKey(lines[0])
	}
	item, err := httpsfv.UnmarshalItem(lines)
	text, isString := item.Value.(string)
	if err != nil || !isString {
		return job.Key{}, job.Refuse(job.CodeInvalidIdempotencyKey)
	}
	return job.ParseKey(text)
}
