package graph

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/job"
)

func ownRequest(ctx context.Context, document string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(`{"query": "`+document+`"}`))
	r.Header.Set("Content-Type", typeJSON)
	return r.WithContext(auth.WithOwner(ctx, job.OwnerOf("ann")))
}

func TestAPanicOutsideOfResolversIsJSONToo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := Config{Service: job.NewService(nil, job.Limits{}, nil), Log: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults()
	server := newServer(c)
	server.AroundResponses(func(context.Context, graphql.ResponseHandler) *graphql.Response { panic("secret") })
	w := httptest.NewRecorder()
	newGate(c, server).ServeHTTP(w, ownRequest(t.Context(), "{__typename}"))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.JSONEq(t, `{"errors": [{"message": "The server failed to answer this.", "extensions": {"code": "INTERNAL"}}], "data": null}`, w.Body.String())
	require.Contains(t, log.String(), "field=none")
	require.NotContains(t, log.String(), "secret")
}

func TestAClientThatHasGoneGetsNoAnswer(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	w := httptest.NewRecorder()
	NewHandler(Config{Service: job.NewService(nil, job.Limits{}, nil)}).ServeHTTP(w, ownRequest(gone, "{__typename}"))
	require.Empty(t, w.Body.String())
}

func TestEveryRuleHasAText(t *testing.T) {
	t.Parallel()
	for rule := range validationRules().GetInner() {
		require.Contains(t, ruleTexts, strings.TrimSuffix(rule, "WithoutSuggestions"))
	}
	require.NotContains(t, ruleTexts, "")
}

func TestLongDocumentsAreNotRemembered(t *testing.T) {
	t.Parallel()
	cache := newDocumentCache()
	cache.Add(t.Context(), "short", nil)
	long := strings.Repeat("x", 9<<10)
	cache.Add(t.Context(), long, nil)
	_, found := cache.Get(t.Context(), "short")
	require.True(t, found)
	_, found = cache.Get(t.Context(), long)
	require.False(t, found)
}

func TestTheDefaultsAreSafe(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	require.Equal(t, 10*time.Second, c.Timeout)
	require.NotNil(t, c.Log)
	require.False(t, c.Introspection)
}

func TestAdmissionIsNamedForGqlgen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Admission", admission{}.ExtensionName())
}

func TestAPanicOutsideOfResolversEndsTheOperationNotTheProcess(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := Config{
		Service: job.NewService(nil, job.Limits{}, nil), WebSockets: feed.NewQuota(feed.Limits{PerOwner: 1, Total: 1}),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}.withDefaults()
	server := newServer(c)
	server.AroundResponses(func(context.Context, graphql.ResponseHandler) *graphql.Response { panic("secret") })
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, r.WithContext(auth.WithOwner(r.Context(), job.OwnerOf("ann"))))
	}))
	t.Cleanup(endpoint.Close)
	socket, _, err := websocket.Dial(t.Context(), endpoint.URL, &websocket.DialOptions{Subprotocols: []string{subprotocol}})
	require.NoError(t, err)
	defer func() { _ = socket.CloseNow() }()
	for _, message := range []string{
		`{"type": "connection_init"}`, `{"type": "subscribe", "id": "1", "payload": {"query": "{__typename}"}}`,
	} {
		require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(message)))
	}
	_, _, err = socket.Read(t.Context())
	require.NoError(t, err)
	_, text, err := socket.Read(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"type": "error", "id": "1", "payload": [
		{"message": "The server failed to answer this.", "extensions": {"code": "INTERNAL"}}]}`, string(text))
	require.Contains(t, log.String(), "field=none")
	require.NotContains(t, log.String(), "secret")
}

func TestADocumentThatHasPassedIsNotMeasuredAgain(t *testing.T) {
	t.Parallel()
	a := admission{documents: newDocumentCache()}
	params := &graphql.RawParams{Query: strings.Repeat("{a", 16) + strings.Repeat("}", 16)}
	require.NotNil(t, a.MutateOperationParameters(t.Context(), params))
	a.documents.Add(t.Context(), params.Query, nil)
	require.Nil(t, a.MutateOperationParameters(t.Context(), params))
}
