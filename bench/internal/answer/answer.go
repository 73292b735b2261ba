// Package answer gives one HTTP answer out of memory, behind the product's authentication: nothing that answers with these bytes is
// faster.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"

	"fencepost/internal/auth"
)

// Answer is what every request gets.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// garbagePercent is that of "fencepost serve".
const garbagePercent = 400

// Command is the first argument of the process that serves an answer; the address, the users file and the file of the answer follow.
const Command = "serve-from-memory"

// Write writes the answer into a file, for the process that serves it.
func (a Answer) Write(path string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// Serve answers until ctx ends. Its arguments are those of [Command].
func Serve(ctx context.Context, address, usersFile, path string) error {
	debug.SetGCPercent(garbagePercent)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	users, err := auth.Open(usersFile, auth.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: address, BaseContext: func(net.Listener) context.Context { return ctx }, //nolint:gosec // its only client is this program
		Handler: users.Require(a, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP reads a request to its end and answers.
func (a Answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a broken request is seen by its client
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}
