package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"fencepost/internal/job"
)

// contract checks answers against openapi.yaml. It is strict: a field or a member that the document does not name is an
// error as well. Those of HTTP itself are not the document's business.
var contract = sync.OnceValue(func() validator.Validator {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		panic(err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		panic(err)
	}
	v, errs := validator.NewValidator(document, config.WithStrictMode(), config.WithFormatAssertions(),
		config.WithStrictIgnorePaths("$.body.@context.*"), // JSON-LD's own vocabulary
		config.WithStrictIgnoredHeadersExtra("Content-Type", "Content-Length", "Date", "Connection"))
	if errs != nil {
		panic(errs)
	}
	return v
})

// unknownPath is one that neither the server nor the document has.
const unknownPath = "/api/etl/nothing"

// conform checks an answer against the document. Paths that it does not have, OPTIONS and HEAD have tests of their own; a
// method that a path does not have is documented at those that it has.
func conform(t testing.TB, r *http.Request, a answer) {
	t.Helper()
	unknown := a.path == unknownPath || strings.Contains(a.body, `"etl_route_not_found"`)
	if r.Method == http.MethodOptions || r.Method == http.MethodHead || unknown {
		return
	}
	documented := &http.Request{Method: r.Method, URL: &url.URL{Path: a.path}}
	if a.status == http.StatusMethodNotAllowed {
		documented.Method, _, _ = strings.Cut(a.header.Get("Allow"), ",")
	}
	for _, err := range violations(documented, a) {
		t.Errorf("%s %s: %d does not conform: %s", r.Method, a.path, a.status, err)
	}
}

func violations(r *http.Request, a answer) []string {
	resp := &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body))}
	_, errs := contract().ValidateHttpResponse(r, resp)
	var reasons []string
	for _, err := range errs {
		reasons = append(reasons, err.Message+": "+err.Reason)
	}
	return reasons
}

func TestAnAnswerThatIsNotInTheDocumentDoesNotConform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: w.pending()}}
	good := w.get(r.URL.Path).require(200)
	require.Empty(t, violations(r, good))

	for name, spoil := range map[string]func(*answer){
		"undocumented status": func(a *answer) { a.status = 418 },
		"undocumented member": func(a *answer) { a.body = strings.Replace(a.body, "{", `{"requestDigest":"x",`, 1) },
		"missing member":      func(a *answer) { a.body = strings.Replace(a.body, "attemptCount", "attempts", 1) },
		"time without micros": func(a *answer) { a.body = strings.Replace(a.body, `Z"`, `1Z"`, 1) },
		"unknown status":      func(a *answer) { a.body = strings.Replace(a.body, "PENDING", "WAITING", 1) },
		"missing field":       func(a *answer) { a.header.Del("ETag") },
		"strong tag":          func(a *answer) { a.header.Set("ETag", `"x"`) },
		"undocumented field":  func(a *answer) { a.header.Set("X-Lease-Owner", "x") },
		"another media type":  func(a *answer) { a.header.Set("Content-Type", "text/html") },
	} {
		bad := good
		bad.header = good.header.Clone()
		spoil(&bad)
		require.NotEmpty(t, violations(r, bad), name)
	}
}

func TestDocumentIsServedInBothForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)

	asYAML := w.get("/openapi.yaml", "Authorization:").require(200)
	require.Equal(t, string(source), asYAML.body)
	require.Equal(t, "application/yaml", asYAML.header.Get("Content-Type"))

	asJSON := w.get("/openapi.json", "Authorization:").require(200)
	require.Equal(t, "application/json", asJSON.header.Get("Content-Type"))
	var document any
	require.NoError(t, yaml.Unmarshal(source, &document)) // not with the library that the server uses
	want, err := json.Marshal(document)
	require.NoError(t, err)
	require.JSONEq(t, string(want), asJSON.body)

	for _, a := range []answer{asYAML, asJSON} {
		require.Equal(t, "no-cache", a.header.Get("Cache-Control"))
		unchanged := w.get(a.path, "Authorization:", "If-None-Match: "+a.header.Get("ETag")).require(304)
		require.Equal(t, "no-cache", unchanged.header.Get("Cache-Control"))
	}
}

func TestDocumentIsAValidOpenAPIDocument(t *testing.T) {
	t.Parallel()
	valid, errs := contract().ValidateDocument()
	require.True(t, valid, errs)
}

// problemsIn is the part of the document that this test looks at.
type problemsIn struct {
	Components struct {
		Schemas struct {
			ProblemCode struct{ Enum []job.Code }
		}
		Examples map[string]struct {
			Summary string
			Value   map[string]any
		}
	}
}

func TestDocumentHasTheTextOfEveryProblem(t *testing.T) {
	t.Parallel()
	var document problemsIn
	require.NoError(t, json.Unmarshal([]byte(newWorld(t).get("/openapi.json").body), &document))

	var codes []job.Code
	for _, d := range job.Definitions() {
		codes = append(codes, d.Code)
		if d.Code == job.CodeRouteNotFound { // belongs to no operation
			continue
		}
		example := document.Components.Examples[string(d.Code)]
		require.Equal(t, d.Title, example.Summary)
		delete(example.Value, "instance")
		delete(example.Value, "allowed") // which is the operator's
		delete(example.Value, "errors")  // which are places in a batch, as the next one is
		delete(example.Value, "offset")
		require.Equal(t, map[string]any{
			"type": d.Type(), "title": d.Title, "status": float64(d.Status), "detail": d.Detail, "errorCode": string(d.Code),
		}, example.Value)
	}
	require.Equal(t, codes, document.Components.Schemas.ProblemCode.Enum)
}
