package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// representationVersion is part of every entity tag. Change it when a member changes its meaning but not its text.
const representationVersion = "fencepost/representation/v1\n"

// entityTagSize is how many bytes of the hash make a tag.
const entityTagSize = 16

// entityTag is a weak validator (RFC 9110 section 8.8.1) over every represented field, the same in every process.
func entityTag(body []byte) string {
	hash := sha256.New()
	hash.Write([]byte(representationVersion))
	hash.Write(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:entityTagSize]) + `"`
}

var (
	tagList   = regexp.MustCompile(`^[ \t,]*(?:(?:W/)?"[^"]*"[ \t]*(?:,[ \t,]*|$))+$`)
	opaqueTag = regexp.MustCompile(`"[^"]*"`)
)

// noneMatchFails reports whether If-None-Match (RFC 9110 section 13.1.2) names the current tag, by weak comparison, so
// that the answer is 304. Several lines are one list; a malformed list is ignored.
func noneMatchFails(header http.Header, tag string) bool {
	list := strings.Join(header.Values("If-None-Match"), ",")
	if list == "*" {
		return true
	}
	return tagList.MatchString(list) && slices.Contains(opaqueTag.FindAllString(list, -1), strings.TrimPrefix(tag, "W/"))
}
