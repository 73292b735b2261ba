package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"fencepost/internal/job"
)

// response is the answer to a request that nothing refused.
type response struct {
	status    int
	header    map[string]string
	mediaType string
	body      []byte
	tagged    bool // the body is a whole representation, worth an ETag
}

// represent answers 200 with a representation that a client may keep and ask about again.
func represent(representation any) response {
	return response{status: http.StatusOK, header: map[string]string{}, body: encode(representation), tagged: true}
}

// encode writes one of this package's representations, which are plain structs: they always can be written.
func encode(representation any) []byte {
	text, _ := json.Marshal(representation)
	return text
}

func (resp response) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, value := range resp.header {
		header.Set(name, value)
	}
	if resp.tagged {
		tag := entityTag(resp.body)
		header.Set("ETag", tag)
		if methodOf(r) == http.MethodGet && noneMatchFails(r.Header, tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if resp.status == http.StatusNoContent {
		w.WriteHeader(resp.status)
		return
	}
	writeBody(w, resp.status, resp.mediaType, resp.body)
}

func writeBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the only failure is a client that went away
}

// replayed is the Idempotency-Replayed header of a write.
func replayed(a job.Accepted) map[string]string {
	return map[string]string{"Idempotency-Replayed": strconv.FormatBool(a.Replayed)}
}

// seconds writes a delay for Retry-After (RFC 9110 section 10.2.3): whole seconds, rounded up, at least 1.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
