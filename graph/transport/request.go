package transport

import (
	stdjson "encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// parameters are what a request says, in the body or in the URL (GraphQL over HTTP, "Request Parameters").
type parameters struct {
	Query         *string        `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

// exactNumbers keeps a number as it was written, so that a large one is refused and not rounded.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, value *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := d.ReadValue()
	*value = stdjson.Number(number)
	return err
}))

// readParams reads a request, from the URL of a GET and the body of a POST.
func readParams(r *http.Request) (*graphql.RawParams, *refusal) {
	read := readBody
	if r.Method == http.MethodGet {
		read = readURL
	}
	params, refused := read(r)
	if refused != nil {
		return nil, refused
	}
	params.Headers = r.Header
	return params, nil
}

// readBody reads one JSON object. The parser refuses repeated names at any depth, text that is not UTF-8 and anything behind
// the object; names are compared letter by letter.
func readBody(r *http.Request) (*graphql.RawParams, *refusal) {
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &refusedSize
	}
	var p parameters
	if err != nil || json.Unmarshal(body, &p, exactNumbers) != nil || p.Query == nil {
		return nil, &refusedJSON
	}
	return p.raw(), nil
}

// readURL reads the same from the URL, where variables and extensions are JSON text.
func readURL(r *http.Request) (*graphql.RawParams, *refusal) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !wellFormed(values) {
		return nil, &refusedParameters
	}
	query := values.Get("query")
	p := parameters{Query: &query, OperationName: values.Get("operationName")}
	if !readObject(values, "variables", &p.Variables) || !readObject(values, "extensions", &p.Extensions) {
		return nil, &refusedParameters
	}
	return p.raw(), nil
}

// wellFormed wants a query, each parameter once, and UTF-8.
func wellFormed(values url.Values) bool {
	for _, each := range values {
		if len(each) > 1 || slices.ContainsFunc(each, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return values.Has("query")
}

func readObject(values url.Values, name string, into *map[string]any) bool {
	return !values.Has(name) || json.UnmarshalRead(strings.NewReader(values.Get(name)), into, exactNumbers) == nil
}

func (p parameters) raw() *graphql.RawParams {
	return &graphql.RawParams{
		Query: *p.Query, OperationName: p.OperationName, Variables: p.Variables, Extensions: p.Extensions,
	}
}
