package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// reloader reads again what an operator may have changed. After an error all is as it was.
type reloader struct {
	what string
	read func(context.Context) error
}

// newProcess makes a process that no SIGHUP ends, until it is closed.
func newProcess(stop context.CancelFunc, log *slog.Logger) *Process {
	p := &Process{stop: stop, hangups: make(chan os.Signal, 1)}
	signal.Notify(p.hangups, syscall.SIGHUP)
	p.atClose(func() { signal.Stop(p.hangups) })
	p.add(func(ctx context.Context) error { p.followHangups(ctx, log); return nil })
	return p
}

// atHangup has something read again at each SIGHUP.
func (p *Process) atHangup(what string, read func(context.Context) error) {
	p.reloaders = append(p.reloaders, reloader{what, read})
}

func (p *Process) followHangups(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.hangups:
			p.reload(ctx, log)
		}
	}
}

func (p *Process) reload(ctx context.Context, log *slog.Logger) {
	for _, r := range p.reloaders {
		if r.read(ctx) == nil {
			log.Info("read again", slog.String("what", r.what))
		} else {
			log.Warn("cannot be used, so what was there before stays", slog.String("what", r.what))
		}
	}
}

// keyPair is a certificate with its key, which can be read again.
type keyPair struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

func (k *keyPair) read(context.Context) error {
	certificate, err := tls.LoadX509KeyPair(k.certFile, k.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	k.current.Store(&certificate)
	return nil
}

func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current.Load(), nil }
