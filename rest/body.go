package rest

import (
	"errors"
	"io"
	"net/http"

	"fencepost/internal/job"
	"fencepost/internal/mediatype"
)

// bodyRule says whether a request brings a body.
type bodyRule int

const (
	noBody       bodyRule = iota // a body is not looked at
	optionalBody                 // only a body that is there needs a media type
	requiredBody
)

// readBody reads a body up to the limit. One that is announced to be longer is refused unread.
func readBody(w http.ResponseWriter, r *http.Request, rule bodyRule, limit int) ([]byte, error) {
	if rule == requiredBody || r.ContentLength > 0 {
		if err := checkMediaType(w, r); err != nil {
			return nil, err
		}
	}
	if r.ContentLength > int64(limit) {
		w.Header().Set("Connection", "close")
		return nil, job.Refuse(job.CodePayloadTooLarge)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	if err != nil {
		return nil, refuseUnread(w, err)
	}
	if len(body) > 0 { // an optional body of unannounced length
		return body, checkMediaType(w, r)
	}
	return body, nil
}

// refuseUnread names the reason why a body could not be read to its end: it is too long, or it broke off.
func refuseUnread(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return job.Refuse(job.CodePayloadTooLarge)
	}
	return job.Refuse(job.CodeInvalidJSON)
}

// checkMediaType wants application/json in UTF-8 without a content coding. A refusal says what would be taken
// (RFC 9110 section 15.5.16).
func checkMediaType(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Content-Encoding") != "" {
		w.Header().Set("Accept-Encoding", "identity")
		return job.Refuse(job.CodeUnsupportedMediaType)
	}
	if !mediatype.IsJSON(r.Header.Values("Content-Type")) {
		return job.Refuse(job.CodeUnsupportedMediaType)
	}
	return nil
}
