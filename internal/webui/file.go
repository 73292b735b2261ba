package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

const compressedSuffix = ".gz"

// mediaTypes does not ask the machine's own tables, which differ.
var mediaTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".ttf":  "font/ttf",
	".txt":  "text/plain; charset=utf-8",
}

// file is one embedded file and what its answers say about it.
type file struct {
	content      []byte
	compressed   bool // content is in gzip's format
	tag          string
	mediaType    string
	policy       string
	cacheControl string
}

func load(name, policy, cacheControl string) file {
	content, _ := embedded.ReadFile(name)
	plainName, compressed := strings.CutSuffix(name, compressedSuffix)
	return file{
		content:      content,
		compressed:   compressed,
		tag:          fmt.Sprintf(`W/"%.16x"`, sha256.Sum256(content)),
		mediaType:    mediaTypes[path.Ext(plainName)],
		policy:       policy,
		cacheControl: cacheControl,
	}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Security-Policy", f.policy)
	h.Set("Cache-Control", f.cacheControl)
	h.Set("ETag", f.tag)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.encode(h, r)))
}

// encode returns the content as the client takes it: compressed, as it is kept, or not.
func (f file) encode(h http.Header, r *http.Request) []byte {
	if !f.compressed {
		return f.content
	}
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		return f.content
	}
	return decompress(f.content)
}

// decompress meets no error: a test has decompressed every file.
func decompress(content []byte) []byte {
	var reader gzip.Reader
	_ = reader.Reset(bytes.NewReader(content))
	plain, _ := io.ReadAll(&reader)
	return plain
}

// acceptsGzip follows RFC 9110, section 12.5.3, as far as one encoding needs it: gzip itself decides before the wildcard, and a
// weight of 0 refuses.
func acceptsGzip(h http.Header) bool {
	accepted := false
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return !refusing(parameters)
		case "*":
			accepted = !refusing(parameters)
		}
	}
	return accepted
}

func refusing(parameters string) bool {
	weight, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameters)), "q=")
	q, err := strconv.ParseFloat(weight, 64)
	return found && err == nil && q == 0
}
