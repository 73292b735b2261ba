package main

import (
	"context"
	"sync"
	"time"

	"fencepost/bench/internal/process"
)

// restartDelay is how long a supervisor such as systemd waits before it starts a process again.
const restartDelay = 500 * time.Millisecond

// member is a process of the product that is started again whenever it ends, at the same addresses.
type member struct {
	name           string
	address, admin string
	program        string
	args           []string

	mu      sync.Mutex
	process *process.Process
	starts  int
}

// newMember makes one that does not run yet. Only a server has an address beside its admin listener.
func newMember(ctx context.Context, program, name string, args ...string) (*member, error) {
	m := &member{name: name, program: program}
	var err error
	if m.admin, err = process.FreeAddress(ctx); err != nil {
		return nil, err
	}
	m.args = append(args, "--admin-listen", m.admin)
	if args[0] == "serve" {
		m.address, err = process.FreeAddress(ctx)
		m.args = append(m.args, "--listen", m.address)
	}
	return m, err
}

// keepRunning runs the process until ctx is done, and then stops it.
func (m *member) keepRunning(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := process.Start(context.WithoutCancel(ctx), m.program, m.args...)
		if err != nil {
			return // the program is gone, and nothing will answer
		}
		m.mu.Lock()
		m.process = p
		m.starts++
		m.mu.Unlock()
		select {
		case <-p.Done():
		case <-ctx.Done():
			_ = p.Stop()
		}
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
		}
	}
}

// waitReady returns when the process answers on its admin listener.
func (m *member) waitReady(ctx context.Context) error {
	for {
		if p := m.current(); p != nil {
			return p.WaitUntilServing(ctx, "http://"+m.admin+"/metrics")
		}
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *member) current() *process.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

// started tells how often the process was started.
func (m *member) started() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.starts
}

// kill ends the process in the middle of whatever it does.
func (m *member) kill() { m.current().Kill() }
