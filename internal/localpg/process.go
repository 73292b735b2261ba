package localpg

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a started child.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // how it ended; to be read after done
}

// startProcess starts cmd and waits for it in the background; a failure to start is how it ended. cleanup runs at the
// end. The parent-death signal belongs to the operating system thread that started the child, so one thread is kept
// until the child has ended.
func startProcess(cmd *exec.Cmd, cleanup func()) *process {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer cleanup()
		p.err = cmd.Start()
		close(started)
		if p.err == nil {
			p.err = cmd.Wait()
		}
	}()
	<-started
	return p
}

// pid is 0 when the child could not start.
func (p *process) pid() int {
	if p.cmd.Process == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// interrupt asks the child to end; for PostgreSQL this is the fast shutdown. A child that has ended is left alone.
func (p *process) interrupt() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(os.Interrupt)
	}
}
