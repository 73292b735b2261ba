//go:build unix && !linux

package localpg

import "syscall"

// sysProcAttr starts a child as credential, in its own process group so that Ctrl-C in a terminal reaches only this
// program, which then stops the child when it no longer needs it. Only Linux can also signal the child when this
// program is killed.
func sysProcAttr(credential *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Setpgid: true}
}
