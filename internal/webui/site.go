package webui

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed lineage playground/dist
var embedded embed.FS

// Content-Security-Policy: nothing runs but this server's own scripts, and they talk to nobody else. The playground's editor
// makes style elements as it goes.
const (
	lineagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	playgroundPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"font-src 'self' data:; connect-src 'self'; worker-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Cache-Control: browsers ask whether a file has changed, unless its name changes with its content.
const (
	revalidated = "private, no-cache"
	immutable   = "private, max-age=31536000, immutable"
)

// anyLineage is the path under which a site keeps the page of every lineage.
const anyLineage = "/lineage/{jobRecordId}"

// site is all files by their paths.
type site map[string]file

func newSite() site {
	s := site{
		"/lineage":                 load("lineage/search.html", lineagePolicy, revalidated),
		anyLineage:                 load("lineage/lineage.html", lineagePolicy, revalidated),
		"/playground":              load("playground/dist/index.html.gz", playgroundPolicy, revalidated),
		"/playground/licenses.txt": load("playground/dist/licenses.txt.gz", playgroundPolicy, revalidated),
	}
	s.addFolder("/lineage/assets/", "lineage/assets", lineagePolicy, revalidated)
	s.addFolder("/playground/assets/", "playground/dist/assets", playgroundPolicy, immutable)
	return s
}

func (s site) addFolder(at, folder, policy, cacheControl string) {
	entries, _ := fs.ReadDir(embedded, folder)
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), compressedSuffix)
		s[at+name] = load(path.Join(folder, entry.Name()), policy, cacheControl)
	}
}

// find returns the file at a path. Every single segment below /lineage is a job's page: its script asks whether there is such
// a job.
func (s site) find(path string) (file, bool) {
	if id, ok := strings.CutPrefix(path, "/lineage/"); ok && id != "" && !strings.Contains(id, "/") {
		path = anyLineage
	}
	f, found := s[path]
	return f, found
}
