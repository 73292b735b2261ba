package localpg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system user that PostgreSQL runs as.
type account struct {
	name       string
	uid, gid   int                 // -1, which chown reads as "no change", for the current user
	credential *syscall.Credential // nil for the current user
}

// accountFor keeps an ordinary user. For root it takes the owner of an existing cluster, else an unprivileged user.
func accountFor(uid int, dataDir string) (account, error) {
	if uid != 0 {
		return currentUser(), nil
	}
	var found syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dataDir, "PG_VERSION"), &found); err != nil {
		return firstAccount("postgres", "nobody")
	}
	if found.Uid == 0 {
		return account{}, fmt.Errorf("%s belongs to root, and PostgreSQL refuses to run as root", dataDir)
	}
	return newAccount(strconv.Itoa(int(found.Uid)), found.Uid, found.Gid), nil
}

func firstAccount(names ...string) (account, error) {
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32) // on Unix these are decimal numbers
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return newAccount(name, uint32(uid), uint32(gid)), nil
		}
	}
	return account{}, fmt.Errorf("PostgreSQL refuses to run as root, and none of the users %v exists", names)
}

func newAccount(name string, uid, gid uint32) account {
	return account{name: name, uid: int(uid), gid: int(gid), credential: &syscall.Credential{Uid: uid, Gid: gid}}
}

func currentUser() account {
	return account{name: strconv.Itoa(os.Geteuid()), uid: -1, gid: -1}
}

// command prepares a PostgreSQL program to run as the account in dir. The environment is small on purpose: variables
// such as PGDATA and PGPORT would change what the program does, and ours may hold secrets.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator names the programs
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = sysProcAttr(a.credential)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// checkEnter finds out whether the account can enter dir, by starting a program there.
func (a account) checkEnter(ctx context.Context, binDir, dir string) error {
	if err := a.command(ctx, dir, filepath.Join(binDir, "postgres"), "--version").Run(); err != nil {
		return fmt.Errorf("user %s, who runs PostgreSQL, can't enter %s: choose a data directory that this user can reach "+
			"(every directory above it needs the x permission): %w", a.name, dir, err)
	}
	return nil
}

// own gives an open file made by this program to the account.
func (a account) own(f *os.File) error { return f.Chown(a.uid, a.gid) }

// ownPath gives a path made by this program to the account.
func (a account) ownPath(path string) error { return os.Lchown(path, a.uid, a.gid) }
