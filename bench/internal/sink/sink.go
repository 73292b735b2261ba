// Package sink takes traces over OTLP/HTTP, and drops them.
package sink

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// Sink is a running sink.
type Sink struct {
	server *http.Server
	// URL is its OTEL_EXPORTER_OTLP_ENDPOINT.
	URL   string
	taken atomic.Int64
}

// Start listens on the loopback interface.
func Start(ctx context.Context) (*Sink, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Sink{URL: "http://" + listener.Addr().String()}
	s.server = &http.Server{Handler: s} //nolint:gosec // its only clients are the programs that are measured
	go s.server.Serve(listener)         //nolint:errcheck // it ends with Close
	return s, nil
}

// ServeHTTP reads an export and answers that it was taken: without a body, an ExportTraceServiceResponse has no fields.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body) // a broken request is seen by its client
	s.taken.Add(n)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Taken is how many bytes have come.
func (s *Sink) Taken() int64 { return s.taken.Load() }

// Close ends it.
func (s *Sink) Close() error { return s.server.Close() }
