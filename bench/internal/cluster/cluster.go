// Package cluster runs the PostgreSQL server of a measurement: durable, in a temporary directory, reached over a Unix socket
// by every contender alike.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"fencepost/internal/localpg"
)

// settings are those of a small server of its own. fsync and synchronous_commit stay on. No checkpoint begins by itself in a
// block: each block begins with one.
var settings = []string{
	"shared_buffers=512MB",
	"max_connections=300",
	"max_wal_size=8GB",
	"checkpoint_timeout=1h",
	"maintenance_work_mem=512MB",
}

// Cluster is a running server with its data.
type Cluster struct {
	// Pgbench is the program of that name: the server's own, or another version's when it has none.
	Pgbench string

	binDir string
	dir    string
	server *localpg.Server
}

// Start makes an empty cluster under parent ("" is the system's temporary directory) and starts it with the programs in
// binDir ("" looks for them).
func Start(ctx context.Context, parent, binDir string) (*Cluster, error) {
	found, err := localpg.Find(binDir)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "fencepost-bench-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Pgbench: pgbench(found), binDir: found, dir: dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func pgbench(binDir string) string {
	own := filepath.Join(binDir, "pgbench")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	other, _ := localpg.Find("") // without one, the run fails with the name of the missing program
	return filepath.Join(other, "pgbench")
}

func (c *Cluster) start(ctx context.Context) error {
	// Started by root, PostgreSQL runs as another user, who must be able to enter.
	if err := os.Chmod(c.dir, 0o755); err != nil { //nolint:gosec // see above; the data directory itself is closed
		return err
	}
	server, err := localpg.Start(ctx, localpg.Config{
		DataDir: filepath.Join(c.dir, "pg"), BinDir: c.binDir,
		Settings: settings, Log: slog.New(slog.DiscardHandler),
	})
	c.server = server
	return err
}

// URL is the connection string of a database.
func (c *Cluster) URL(database string) string {
	u, err := url.Parse(c.server.URL())
	if err != nil {
		panic(err) // the server made it
	}
	u.Path = "/" + database
	return u.String()
}

// Create makes an empty database and returns its URL.
func (c *Cluster) Create(ctx context.Context, database string) (string, error) {
	return c.URL(database), c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
}

// Checkpoint writes everything out, so that a block does not pay for the one before it.
func (c *Cluster) Checkpoint(ctx context.Context) error { return c.Exec(ctx, "CHECKPOINT") }

// Version is the server's version, for the report.
func (c *Cluster) Version(ctx context.Context) (version string, err error) {
	conn, err := pgx.Connect(ctx, c.server.URL())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return version, err
}

// Exec runs a statement on a connection of its own to the maintenance database.
func (c *Cluster) Exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err = conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// Restart stops the server and starts it again with its data. Connections are cut, and what was committed is there.
func (c *Cluster) Restart(ctx context.Context) error {
	return errors.Join(c.server.Stop(), c.start(ctx))
}

// Crash ends the server at once (an immediate shutdown) and starts it again, which then recovers from its log.
func (c *Cluster) Crash(ctx context.Context) error {
	lock, err := os.ReadFile(filepath.Join(c.dir, "pg", "postmaster.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.SplitN(string(lock), "\n", 2)[0])
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("crash PostgreSQL: %w", err)
	}
	<-c.server.Done()
	return c.start(ctx)
}

// Stop ends the server and removes its data.
func (c *Cluster) Stop() error {
	return errors.Join(c.server.Stop(), os.RemoveAll(c.dir))
}
