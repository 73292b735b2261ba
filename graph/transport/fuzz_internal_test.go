package transport

import (
	"bytes"
	stdjson "encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// A body that is accepted is JSON for every parser, and its query the one that another parser reads.
func FuzzRequestBody(f *testing.F) {
	for _, body := range []string{
		"", "{}", `{"query":"{a}"}`, `{"query":"{a}","query":"{b}"}`, `{"Query":"{a}"}`, `{"query":null}`, `{"query":"\ud800"}`,
		`{"query":"{a}","variables":{"n":1e400},"extensions":{}}`, `{"query":"{a}"} x`, `[{"query":"{a}"}]`, `{"query":"{a}","operationName":1}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		params, refused := readBody(httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body)))
		if refused != nil {
			require.Equal(t, &refusedJSON, refused)
			return
		}
		var other map[string]stdjson.RawMessage
		require.NoError(t, stdjson.Unmarshal([]byte(body), &other))
		var query string
		require.NoError(t, stdjson.Unmarshal(other["query"], &query))
		require.Equal(t, query, params.Query)
	})
}

// A query in a URL says the same as in a body.
func FuzzRequestURL(f *testing.F) {
	for _, raw := range []string{"", "query={a}", "query={a}&query={b}", "query={a}&variables={\"n\":1}", "query={a}&variables=[]", "query=%ff", "query={a}&operationName=x"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		request := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: raw}}
		params, refused := readURL(request)
		if refused != nil {
			require.Equal(t, &refusedParameters, refused)
			return
		}
		body, err := stdjson.Marshal(map[string]any{
			"query": params.Query, "operationName": params.OperationName, "variables": params.Variables, "extensions": params.Extensions,
		})
		require.NoError(t, err)
		again, refused := readBody(httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body)))
		require.Nil(t, refused)
		require.Equal(t, params, again)
	})
}

// A message that is accepted is one of the protocol, and no other parser reads another type or id from it.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{
		"", `{"type":"connection_init"}`, `{"type":"ping","payload":null}`, `{"type":"pong","payload":1}`, `{"type":"complete","id":"1"}`,
		`{"type":"subscribe","id":"1","payload":{"query":"{a}"}}`, `{"type":"subscribe","payload":{}}`, `{"type":"next","id":"1"}`, `{"type":"ping","type":"pong"}`,
	} {
		f.Add(text)
	}
	types := []string{messageInit, messagePing, messagePong, messageSubscribe, messageComplete}
	f.Fuzz(func(t *testing.T, text string) {
		message, ok := parse(websocket.MessageText, []byte(text))
		if !ok {
			return
		}
		require.True(t, slices.Contains(types, message.Type))
		var other struct{ Type, ID string }
		require.NoError(t, stdjson.Unmarshal([]byte(text), &other))
		require.Equal(t, other.ID, message.ID)
		if params, ok := message.parameters(); ok {
			require.NotNil(t, params.Query)
		}
	})
}

// A media type is picked only if the client named it or a wildcard for it, or nothing at all.
func FuzzNegotiate(f *testing.F) {
	for _, accept := range []string{"", "*/*", typeJSON, typeResponse + ";q=0.5," + typeJSON, "application/*;q=0", typeEvents, "a/b;q=NaN", "text/*"} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		header := http.Header{"Accept": {accept}}
		picked, ok := negotiate(header)
		if !ok {
			require.Empty(t, picked)
			return
		}
		require.Contains(t, []string{typeJSON, typeResponse}, picked)
		require.False(t, onlyEvents(header))
		named := strings.ToLower(accept)
		require.True(t, strings.TrimSpace(accept) == "" || strings.Contains(named, picked) ||
			strings.Contains(named, "application/*") || strings.Contains(named, "*/*"))
	})
}
