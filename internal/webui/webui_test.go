package webui_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/webui"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const someLineage = "/lineage/01890000-0000-7000-8000-000000000000"

// request asks for a path as it is; headers are pairs of name and value.
func request(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://fencepost.example"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	webui.New().ServeHTTP(w, r)
	return w
}

// references lists what a page loads.
func references(t *testing.T, page string) []string {
	t.Helper()
	var paths []string
	for _, match := range regexp.MustCompile(`(?:src|href)="(/[a-z]+/assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		paths = append(paths, match[1])
	}
	require.NotEmpty(t, paths)
	return paths
}

func TestEachPageIsHTMLThatLoadsOnlyWhatTheServerHas(t *testing.T) {
	t.Parallel()
	for page, title := range map[string]string{
		"/playground": "Playground", "/lineage": "Lineage", someLineage: "Lineage", "/lineage/nonsense": "Lineage",
	} {
		w := request("GET", page)
		require.Equal(t, http.StatusOK, w.Code, page)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, "private, no-cache", w.Header().Get("Cache-Control"))
		require.Contains(t, w.Body.String(), "<title>"+title)
		for _, asset := range references(t, w.Body.String()) {
			require.Equal(t, http.StatusOK, request("GET", asset).Code, asset)
		}
	}
}

func TestEveryAnswerForbidsScriptsInThePageAndOtherHosts(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"/playground", "/lineage", someLineage, "/lineage/assets/api.js"} {
		header := request("GET", page).Header()
		policy := header.Get("Content-Security-Policy")
		require.True(t, strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; "), policy)
		require.Contains(t, policy, "; connect-src 'self'; ")
		require.Contains(t, policy, "; frame-ancestors 'none'")
		require.NotContains(t, policy, "http")
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", header.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", header.Get("Cross-Origin-Opener-Policy"))
		require.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"))
	}
	require.NotContains(t, request("GET", someLineage).Header().Get("Content-Security-Policy"), "unsafe")
}

func TestAssetsHaveTheTypeThatTheyAreUsedAs(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".ttf": "font/ttf",
	}
	for folder, at := range map[string]string{"lineage/assets": "/lineage/assets/", "playground/dist/assets": "/playground/assets/"} {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, entry := range entries {
			name := strings.TrimSuffix(entry.Name(), ".gz")
			w := request("GET", at+name)
			require.Equal(t, http.StatusOK, w.Code, name)
			require.NotEmpty(t, types[path.Ext(name)], name)
			require.Equal(t, types[path.Ext(name)], w.Header().Get("Content-Type"), name)
		}
	}
}

func TestFilesWithAHashInTheirNamesAreKeptForAYearAndOthersAskedAfter(t *testing.T) {
	t.Parallel()
	for _, asset := range references(t, request("GET", "/playground").Body.String()) {
		if strings.HasPrefix(asset, "/playground/") {
			require.Equal(t, "private, max-age=31536000, immutable", request("GET", asset).Header().Get("Cache-Control"))
		}
	}
	first := request("GET", "/lineage/assets/api.js")
	require.Equal(t, "private, no-cache", first.Header().Get("Cache-Control"))
	again := request("GET", "/lineage/assets/api.js", "If-None-Match", first.Header().Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.Code)
	require.Zero(t, again.Body.Len())
}

func TestCompressedFilesAreSentAsTheClientTakesThem(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("playground/dist/index.html.gz")
	require.NoError(t, err)
	for _, accepted := range []string{"gzip", "GZIP", "br, gzip;q=0.5", "*", "identity;q=0, *;q=0.1", "gzip;q=1, *;q=0", "gzip;q=x"} {
		w := request("GET", "/playground", "Accept-Encoding", accepted)
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"), accepted)
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		require.Equal(t, kept, w.Body.Bytes())
	}
	for _, accepted := range []string{"", "br", "identity", "gzip;q=0", "gzip; Q=0.000, *", "*;q=0", "*, gzip;q=0"} {
		w := request("GET", "/playground", "Accept-Encoding", accepted)
		require.Empty(t, w.Header().Get("Content-Encoding"), accepted)
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		require.Contains(t, w.Body.String(), "<!doctype html>")
	}
}

func TestEveryCompressedFileCanBeDecompressed(t *testing.T) {
	t.Parallel()
	require.NoError(t, fs.WalkDir(os.DirFS("playground/dist"), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".gz" {
			content, err := fs.ReadFile(os.DirFS("playground/dist"), name)
			require.NoError(t, err)
			reader, err := gzip.NewReader(bytes.NewReader(content))
			require.NoError(t, err, name)
			_, err = io.Copy(io.Discard, reader)
			require.NoError(t, err, name)
		}
		return err
	}))
}

func TestThePlaygroundIsBuiltFromItsSources(t *testing.T) {
	t.Parallel()
	sums, err := os.Open("playground/dist/SHA256SUMS")
	require.NoError(t, err)
	defer func() { _ = sums.Close() }()
	listed := map[string]bool{}
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		content, err := os.ReadFile(path.Join("playground", name))
		require.NoError(t, err)
		actual := sha256.Sum256(content)
		require.Equal(t, sum, hex.EncodeToString(actual[:]), "%s has changed since the last `make web`", name)
		listed[name] = true
	}
	sources, err := fs.Glob(os.DirFS("playground"), "src/*")
	require.NoError(t, err)
	for _, name := range append(sources, "index.html", "package.json", "package-lock.json", "vite.config.js") {
		require.True(t, listed[name], "%s is new since the last `make web`", name)
	}
}

func TestThePackagesInThePlaygroundAreNamedWithTheirLicences(t *testing.T) {
	t.Parallel()
	w := request("GET", "/playground/licenses.txt")
	require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	for _, name := range []string{"graphiql", "monaco-editor", "react", "graphql"} {
		require.Contains(t, w.Body.String(), name)
	}
}

func TestAPathThatIsNotExactlyAPageIsNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/", "/playground/", "/playground/index.html", "/playground/assets/", "/playground/assets/none.js", "//playground",
		"/playground/../lineage", "/lineage/", "/lineage/a/b", "/lineage/assets/", "/lineage/assets/lineage.html",
		"/lineage/assets/../lineage.html", "/lineage%2f", "/graphql",
	} {
		w := request("GET", path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		requireBareRefusal(t, w, "Not Found\n")
		require.Empty(t, w.Header().Get("Location"))
	}
}

func TestPagesAreReadOnly(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		w := request(method, someLineage)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		requireBareRefusal(t, w, "Method Not Allowed\n")
	}
	require.Equal(t, http.StatusOK, request("HEAD", someLineage).Code)
}

func TestWithoutCredentialsThereIsNothingToSee(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	webui.Unauthenticated.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/playground", nil))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	requireBareRefusal(t, w, "Unauthorized\n")
}

func requireBareRefusal(t *testing.T, w *httptest.ResponseRecorder, body string) {
	t.Helper()
	require.Equal(t, body, w.Body.String())
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "default-src 'none'; frame-ancestors 'none'", w.Header().Get("Content-Security-Policy"))
}

func TestServesNamesThePathsOfThePages(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/playground", "/playground/assets/x.js", "/lineage", "/lineage/", "/lineage/a/b"} {
		require.True(t, webui.Serves(path), path)
	}
	for _, path := range []string{"/", "/graphql", "/lineages", "/playgrounds", "/api/etl/jobs", "//lineage"} {
		require.False(t, webui.Serves(path), path)
	}
	for _, path := range webui.Routes {
		require.True(t, webui.Serves(path), path)
	}
}
