package server

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

func (p Public) check(allowPlaintext bool) error {
	if (p.CertFile == "") != (p.KeyFile == "") {
		return errors.New("--tls-cert and --tls-key need each other")
	}
	if p.CertFile == "" && !allowPlaintext && !loopback(p.Address) {
		return fmt.Errorf("--listen %s can be reached from other machines, where passwords could be read on the way: "+
			"give --tls-cert and --tls-key, or --allow-plaintext if something else encrypts", p.Address)
	}
	return nil
}

func (a Admin) check() error {
	if !a.AllowPlaintext && !loopback(a.Address) {
		return fmt.Errorf("--admin-listen %s can be reached from other machines: keep it on 127.0.0.1, "+
			"or give --allow-plaintext if the network is trusted", a.Address)
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

func (p *Process) openPublicDoor(ctx context.Context, public Public, handler http.Handler) (*door, error) {
	var config *tls.Config
	if public.CertFile != "" {
		pair := &keyPair{certFile: public.CertFile, keyFile: public.KeyFile}
		if err := pair.read(ctx); err != nil {
			return nil, err
		}
		p.atHangup("certificate", pair.read)
		config = &tls.Config{GetCertificate: pair.get, MinVersion: tls.VersionTLS12}
	}
	return openDoor(ctx, "--listen", public.Address, config, handler)
}

// openAdmin opens the door of metrics, profiles and health.
func (p *Process) openAdmin(
	ctx context.Context, a Admin, drain time.Duration, metrics *telemetry.Metrics, ready func(context.Context) error,
) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {}) // for workers, which have no other door
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if ready(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", metrics.Handler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // without cmdline: the command line can hold a password
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	admin, err := openDoor(ctx, "--admin-listen", a.Address, nil, mux)
	if err != nil {
		return err
	}
	p.atClose(admin.close)
	p.add(func(ctx context.Context) error { return admin.serve(ctx, drain) })
	p.Welcome.AdminURL = admin.url()
	return nil
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

// close gives up a door that was never served. One that was is closed already.
func (d *door) close() { _ = d.listener.Close() }
