package graph

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"fencepost/internal/auth"
	"fencepost/internal/feed"
	"fencepost/internal/job"
)

func ownRequest(ctx context.Context, document string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(`{"query": "`+document+`"}`))
	r.Header.Set("Content-Type", "application/json")
	return r.WithContext(auth.WithOwner(ctx, job.OwnerOf("ann")))
}

func TestAPanicOutsideOfResolversIsJSONToo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := Config{Service: job.NewService(nil, job.Limits{}, nil), Log: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults()
	server := newServer(c)
	server.AroundResponses(func(context.Context, graphql.ResponseHandler) *graphql.Response { panic("secret") })
	w := httptest.NewRecorder()
	newDoor(c, server).ServeHTTP(w, ownRequest(t.Context(), "{__typename}"))
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

func TestTheDefaultsAreSafe(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	require.Equal(t, 10*time.Second, c.Timeout)
	require.NotNil(t, c.Log)
	require.False(t, c.Introspection)
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
	socket, _, err := websocket.Dial(t.Context(), endpoint.URL, &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
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

// query is the context of a query in the scope of its answer.
func query(t *testing.T, document string) context.Context {
	t.Helper()
	parsed, err := parser.ParseQuery(&ast.Source{Input: document})
	require.NoError(t, err)
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: parsed.Operations[0]})
	scoped := make(chan context.Context, 1)
	scopeEachAnswer(nil)(ctx, func(ctx context.Context) *graphql.Response {
		scoped <- ctx
		return nil
	})
	return <-scoped
}

func TestOneRootFieldWaitsForNoTurn(t *testing.T) {
	t.Parallel()
	require.Nil(t, scopeOf(query(t, "{jobs {nodes {id}}}")).roots)
	require.NotNil(t, scopeOf(query(t, "{...F} fragment F on Query {a: __typename}")).roots)
}

func TestTwoRootFieldsOfARequestRunAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		operation, around := query(t, "{a: __typename ...F} fragment F on Query {b: __typename}"), aroundRoots(nil)
		ctx, cancel := context.WithCancel(graphql.WithResponseContext(operation, graphql.DefaultErrorPresenter, graphql.DefaultRecover))
		running, end := atomic.Int64{}, make(chan struct{})
		field := func(context.Context) graphql.Marshaler {
			running.Add(1)
			<-end
			return graphql.True
		}
		answers := make(chan graphql.Marshaler, 5)
		for range cap(answers) {
			go func() { answers <- around(ctx, field) }()
		}
		synctest.Wait()
		require.EqualValues(t, 2, running.Load())
		end <- struct{}{}
		synctest.Wait()
		require.EqualValues(t, 3, running.Load())
		cancel() // the others are not begun
		close(end)
		told := map[graphql.Marshaler]int{}
		for range cap(answers) {
			told[<-answers]++
		}
		require.Equal(t, map[graphql.Marshaler]int{graphql.True: 3, graphql.Null: 2}, told)
		require.Len(t, graphql.GetErrors(ctx), 2)
	})
}
