package localpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cluster is a data directory together with the programs and the user that serve it.
type cluster struct {
	dataDir  string
	binDir   string
	major    int
	account  account
	settings []string
	log      *slog.Logger
}

func newCluster(ctx context.Context, cfg Config) (*cluster, error) {
	dataDir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	a, err := accountFor(os.Geteuid(), dataDir)
	if err != nil {
		return nil, err
	}
	major, err := majorVersion(ctx, a, cfg.BinDir)
	if err != nil {
		return nil, fmt.Errorf("as user %s, who is to run PostgreSQL: %w", a.name, err)
	}
	c := &cluster{dataDir: dataDir, binDir: cfg.BinDir, major: major, account: a, settings: cfg.Settings, log: cfg.Log}
	if c.log == nil {
		c.log = slog.Default()
	}
	return c, nil
}

// ensureData leaves a complete cluster of the right major version at the data directory, or an error.
func (c *cluster) ensureData(ctx context.Context) error {
	parent := filepath.Dir(c.dataDir)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // another user, who runs PostgreSQL, must enter
		return fmt.Errorf("data directory: %w", err)
	}
	if err := c.account.checkEnter(ctx, c.binDir, parent); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory: %w", err)
	}
	if len(entries) == 0 {
		return c.create(ctx)
	}
	return c.checkVersion()
}

func (c *cluster) checkVersion() error {
	text, err := os.ReadFile(filepath.Join(c.dataDir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not empty and not a PostgreSQL data directory; choose another", c.dataDir)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if have := strings.TrimSpace(string(text)); have != strconv.Itoa(c.major) {
		return fmt.Errorf("%s was written by PostgreSQL %s, but the programs in %s are version %d; "+
			"give those of version %s with --postgres-bin, or choose another data directory",
			c.dataDir, have, c.binDir, c.major, have)
	}
	return nil
}

// create runs initdb beside the data directory and renames the result, so that an interrupted run never leaves
// something that looks complete.
func (c *cluster) create(ctx context.Context) error {
	parent, name := filepath.Split(c.dataDir)
	unfinished, err := os.MkdirTemp(parent, name+".unfinished-")
	if err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := c.initAndRename(ctx, unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	c.log.Info("private PostgreSQL data directory created", "data_dir", c.dataDir, "major_version", c.major)
	return syncDir(parent)
}

func (c *cluster) initAndRename(ctx context.Context, unfinished string) error {
	if err := c.account.ownPath(unfinished); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := c.initdb(ctx, unfinished); err != nil {
		return err
	}
	// os.Rename refuses an existing directory; os.Remove takes away only an empty one.
	if err := os.Remove(c.dataDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := os.Rename(unfinished, c.dataDir); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	return nil
}

// initdb fills dir. "trust" is safe because the socket is in a directory closed to other users.
func (c *cluster) initdb(ctx context.Context, dir string) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=reject",
	}
	if slices.Contains(c.settings, "fsync=off") { // data to be thrown away, as in tests
		args = append(args, "--no-sync")
	}
	cmd := c.account.command(ctx, dir, filepath.Join(c.binDir, "initdb"), args...)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	p := startProcess(cmd, func() {})
	<-p.done
	if p.err != nil {
		return fmt.Errorf("initdb: %w: %s", p.err, strings.TrimSpace(output.String()))
	}
	return nil
}

// lock is what a server writes into postmaster.pid: its process id in line 1 and its state in line 8.
type lock struct {
	pid    int
	status string
}

// readLock returns the zero lock when there is none, or none that can be read yet.
func (c *cluster) readLock() lock {
	text, _ := os.ReadFile(filepath.Join(c.dataDir, "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	var l lock
	l.pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	if len(lines) >= 8 {
		l.status = strings.TrimSpace(lines[7])
	}
	return l
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
