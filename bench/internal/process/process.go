// Package process runs the programs that are measured: servers and workers, each a process of its own.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	pollInterval  = 20 * time.Millisecond
	stopPatience  = 30 * time.Second
	startPatience = time.Minute
)

// Process is a running program. Its output is kept, for the error that tells how it ended.
type Process struct {
	cmd    *exec.Cmd
	output *bytes.Buffer
	done   chan struct{}
	err    error
}

// Start runs a program until Stop, or until ctx ends.
func Start(ctx context.Context, program string, args ...string) (*Process, error) {
	return StartWith(ctx, nil, program, args...)
}

// StartWith is Start with further variables of the environment.
func StartWith(ctx context.Context, environment []string, program string, args ...string) (*Process, error) {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the programs that are measured
	p := &Process{cmd: cmd, output: &bytes.Buffer{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = stopPatience
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// WaitUntilServing returns when the URL answers, whatever the answer is.
func (p *Process) WaitUntilServing(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			return response.Body.Close()
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w: %s", p.cmd.Path, p.err, p.output)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", p.cmd.Path, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// PeakMemory is the most memory that the process has ever had resident, in bytes.
func (p *Process) PeakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the system does not tell the peak of resident memory")
}

// Stop interrupts the process and waits for its end.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopPatience):
		return errors.Join(fmt.Errorf("%s does not stop", p.cmd.Path), p.cmd.Process.Kill())
	}
}

// Kill ends the process as "kill -9" does, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// FreeAddress is a loopback address that nothing listens on at the moment.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
