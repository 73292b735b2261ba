package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"fencepost/internal/telemetry"
)

// Bounds of one connection. Together they end a client that sends or reads too slowly; an answer takes far less.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute
	writeTimeout   = 2 * time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// listenOptions say where the process listens.
type listenOptions struct {
	public            string
	certFile, keyFile string
	admin             adminOptions
}

func (o *listenOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.public, "listen", "127.0.0.1:8080", "address of REST and GraphQL")
	flags.StringVar(&o.certFile, "tls-cert", "", "PEM file of the certificate chain; needs --tls-key")
	flags.StringVar(&o.keyFile, "tls-key", "", "PEM file of the certificate's key; needs --tls-cert")
	o.admin.register(flags, "127.0.0.1:9090")
}

func (o *listenOptions) check() error {
	if (o.certFile == "") != (o.keyFile == "") {
		return errors.New("--tls-cert and --tls-key need each other")
	}
	if o.certFile == "" && !o.admin.allowPlaintext && !loopback(o.public) {
		return fmt.Errorf("--listen %s can be reached from other machines, where passwords could be read on the way: "+
			"give --tls-cert and --tls-key, or --allow-plaintext if something else encrypts", o.public)
	}
	return o.admin.check()
}

// adminOptions say where metrics and profiles are served.
type adminOptions struct {
	address        string
	allowPlaintext bool
}

func (o *adminOptions) register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&o.address, "admin-listen", address, "address of metrics and profiles, which need no password")
	flags.BoolVar(&o.allowPlaintext, "allow-plaintext", false, "listen without TLS where other machines can connect")
}

func (o *adminOptions) check() error {
	if !o.allowPlaintext && !loopback(o.address) {
		return fmt.Errorf("--admin-listen %s can be reached from other machines: keep it on 127.0.0.1, "+
			"or give --allow-plaintext if the network is trusted", o.address)
	}
	return nil
}

// loopback reports whether only this machine can connect to an address, or nobody, because it is malformed.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// door is a server on its listener.
type door struct {
	server   *http.Server
	listener net.Listener
	secure   bool
	running  sync.WaitGroup // requests, and WebSockets, which the server itself does not wait for
}

func openPublicDoor(ctx context.Context, o listenOptions, handler http.Handler) (*door, error) {
	var config *tls.Config
	if o.certFile != "" {
		certificate, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	return openDoor(ctx, "--listen", o.public, config, handler)
}

func openAdminDoor(ctx context.Context, o adminOptions, metrics *telemetry.Metrics) (*door, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {}) // for workers, which have no other door
	mux.Handle("GET /metrics", metrics.Handler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // without cmdline: the command line can hold a password
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return openDoor(ctx, "--admin-listen", o.address, nil, mux)
}

func openDoor(ctx context.Context, flag, address string, config *tls.Config, handler http.Handler) (*door, error) {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: choose another address with %s", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	d := &door{listener: listener, secure: config != nil}
	d.server = &http.Server{
		Handler:           d.count(handler),
		TLSConfig:         config,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // its lines quote clients
	}
	return d, nil
}

// count keeps track of what runs.
func (d *door) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.running.Add(1)
		defer d.running.Done()
		next.ServeHTTP(w, r)
	})
}

func (d *door) url() string {
	if d.secure {
		return "https://" + d.listener.Addr().String()
	}
	return "http://" + d.listener.Addr().String()
}

// serve answers requests until ctx ends. Then it accepts no more, and lets those that have begun finish within the drain
// timeout.
func (d *door) serve(ctx context.Context, drain time.Duration) error {
	drained := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		drained <- d.server.Shutdown(deadline)
	})()
	if err := d.accept(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	if err := <-drained; err != nil {
		return errors.Join(errors.New("requests were cut off at the end of the drain timeout"), d.server.Close())
	}
	d.running.Wait() // for WebSockets, each of which takes some seconds at most to say goodbye
	return nil
}

func (d *door) accept() error {
	if d.secure {
		return d.server.ServeTLS(d.listener, "", "")
	}
	return d.server.Serve(d.listener)
}

// close gives up a door that was never served.
func (d *door) close() { _ = d.listener.Close() }
