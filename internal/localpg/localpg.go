// Package localpg runs a private PostgreSQL server for a program that was given no database URL.
//
// It uses the PostgreSQL programs that are already on the machine, keeps all data in one directory, and listens on a
// Unix socket that only the same user (and root) can reach; there is no TCP port. PostgreSQL refuses to run as root, so
// a program run by root starts it as an unprivileged user. If the program is killed, the operating system asks
// PostgreSQL to shut down cleanly.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	superuser = "fencepost"
	database  = "postgres"
	port      = "5432" // names the socket file; nothing listens on the network

	readyPollInterval = 20 * time.Millisecond
)

// settings replace what postgresql.conf says. Messages below "log" are left out because the text of a failed statement
// can quote the values it was given.
var settings = []string{
	"listen_addresses=",
	"port=" + port,
	"unix_socket_permissions=0700",
	"log_destination=stderr",
	"logging_collector=off",
	"log_min_messages=log",
}

// Config says where the data is and which programs serve it.
type Config struct {
	// DataDir is PostgreSQL's own directory. Start creates it when it is missing or empty. It can't be a mount point
	// itself; a directory inside one is fine.
	DataDir string
	// BinDir holds the programs postgres and initdb; see [Find].
	BinDir string
	// Settings are further PostgreSQL settings, each as "name=value".
	Settings []string
	// Log hears when a data directory is made and when the server starts; nil means the default logger.
	Log *slog.Logger
}

// Server is a running PostgreSQL that belongs to this process.
type Server struct {
	url     string
	process *process
}

// Start creates the data directory if there is none yet, starts PostgreSQL and returns when it accepts connections.
// Recovery after a crash can take long; ctx bounds the wait, not the life of the server.
//
// It is an error when the directory holds anything but a PostgreSQL cluster, when another major version wrote it, when
// another server uses it, and when the user PostgreSQL runs as can't reach it. No error ever changes existing data.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	c, err := newCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := c.ensureData(ctx); err != nil {
		return nil, err
	}
	return c.start(ctx)
}

// URL is the connection string of the server, for pgx and other clients that read PostgreSQL URLs.
func (s *Server) URL() string { return s.url }

// Done is closed when PostgreSQL has ended, whether or not Stop was called.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Stop shuts PostgreSQL down cleanly: it disconnects clients, rolls back what they had open, writes a checkpoint and
// ends. It returns when that is done, with an error if PostgreSQL did not end well. Calling it again is harmless.
func (s *Server) Stop() error {
	s.process.interrupt()
	<-s.process.done
	if s.process.err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", s.process.err)
	}
	return nil
}

func (c *cluster) start(ctx context.Context) (*Server, error) {
	socket, err := makeSocketDir(c.dataDir, c.account)
	if err != nil {
		return nil, err
	}
	output, err := c.openLog()
	if err != nil {
		socket.remove()
		return nil, err
	}
	defer output.Close() // the child has its own descriptor
	p := startProcess(c.serverCommand(socket, output), socket.remove)
	s := &Server{url: socketURL(socket.path), process: p}
	if err := c.waitReady(ctx, p); err != nil {
		_ = s.Stop() // the reason is in err
		return nil, err
	}
	c.log.Info("private PostgreSQL started", "data_dir", c.dataDir, "major_version", c.major)
	return s, nil
}

func (c *cluster) serverCommand(socket socketDir, output *os.File) *exec.Cmd {
	args := []string{"-D", c.dataDir, "-c", "unix_socket_directories=" + socket.path}
	for _, s := range slices.Concat(settings, c.settings) {
		args = append(args, "-c", s)
	}
	cmd := c.account.command(context.Background(), c.dataDir, filepath.Join(c.binDir, "postgres"), args...)
	cmd.Stdout, cmd.Stderr = output, output
	return cmd
}

// waitReady returns when the server says in postmaster.pid that it accepts connections, as pg_ctl does.
func (c *cluster) waitReady(ctx context.Context, p *process) error {
	tick := time.NewTicker(readyPollInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return c.startError(p)
		case <-ctx.Done():
			return fmt.Errorf("start PostgreSQL: %w", context.Cause(ctx))
		case <-tick.C:
			if lock := c.readLock(); lock.pid == p.pid() && (lock.status == "ready" || lock.status == "standby") {
				return nil
			}
		}
	}
}

func (c *cluster) startError(p *process) error {
	lock := c.readLock()
	if lock.pid > 0 && lock.pid != p.pid() && !errors.Is(syscall.Kill(lock.pid, 0), syscall.ESRCH) {
		return fmt.Errorf("data directory %s is in use by another server (process %d); stop it, or wait until it has stopped",
			c.dataDir, lock.pid)
	}
	return fmt.Errorf("PostgreSQL did not start: %w; its log %s says why", p.err, c.logPath())
}

// openLog opens PostgreSQL's log for appending. O_NOFOLLOW: the directory belongs to an unprivileged user, who must not
// be able to make root write elsewhere.
func (c *cluster) openLog() (*os.File, error) {
	f, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		err = c.account.own(f)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log of PostgreSQL: %w", err)
	}
	return f, nil
}

func (c *cluster) logPath() string { return filepath.Join(c.dataDir, "postgres.log") }

// socketURL encodes a space as %20: PostgreSQL clients, unlike browsers, read "+" as itself.
func socketURL(dir string) string {
	query := url.Values{"host": {dir}, "port": {port}}.Encode()
	u := url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/" + database,
		RawQuery: strings.ReplaceAll(query, "+", "%20"),
	}
	return u.String()
}
