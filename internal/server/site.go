package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"fencepost/internal/auth"
	"fencepost/internal/localpg"
	"fencepost/internal/postgres/schema"
)

const (
	// operator is the user that the first start with a private PostgreSQL makes.
	operator = "operator"
	// spareConnections of a private PostgreSQL are left for listeners, migrations and psql.
	spareConnections = 20
)

// site is where a server keeps its jobs and users.
type site struct {
	databaseURL, usersFile string
	dataDir                string          // of a private PostgreSQL
	user, password         string          // of the operator, when this start has made it
	ended                  <-chan struct{} // closed when a private PostgreSQL has ended
	stop                   func() error
}

// openSite takes the database that was named, or starts a private one.
func openSite(ctx context.Context, c Config) (site, error) {
	if c.Database.URL == "" {
		return openPrivateSite(ctx, c)
	}
	if c.Site.UsersFile == "" {
		return site{}, errors.New("with --database-url, name the users file with --users-file; `fencepost users add` makes one")
	}
	nothing := func() error { return nil }
	return site{databaseURL: c.Database.URL, usersFile: c.Site.UsersFile, stop: nothing}, nil
}

func openPrivateSite(ctx context.Context, c Config) (site, error) {
	binDir, err := localpg.Find(c.Site.PostgresBin)
	if err != nil {
		return site{}, err
	}
	dataDir, err := dataDirectory(c.Site.DataDir, os.Geteuid(), c.Runtime.LookupEnv)
	if err != nil {
		return site{}, err
	}
	server, err := localpg.Start(ctx, localpg.Config{
		DataDir:  filepath.Join(dataDir, "postgres"),
		BinDir:   binDir,
		Settings: []string{"max_connections=" + strconv.Itoa(c.Database.PoolSize+spareConnections)},
		Log:      c.Runtime.Log,
	})
	if err != nil {
		return site{}, err
	}
	s := site{databaseURL: server.URL(), dataDir: dataDir, ended: server.Done(), stop: server.Stop}
	if err := s.furnish(ctx, c.Site.UsersFile); err != nil {
		return site{}, errors.Join(err, s.stop())
	}
	return s, nil
}

// dataDirectory makes the directory of a private PostgreSQL's data. Root's can be entered by others, because PostgreSQL runs
// as another user then.
func dataDirectory(named string, uid int, lookupEnv func(string) (string, bool)) (string, error) {
	dir, err := filepath.Abs(named)
	if named == "" {
		dir, err = defaultDataDirectory(uid, lookupEnv)
	}
	if err != nil {
		return "", err
	}
	mode := os.FileMode(0o700)
	if uid == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return "", fmt.Errorf("--data-dir: %w", err)
	}
	return dir, nil
}

// defaultDataDirectory follows the XDG Base Directory Specification, except for root.
func defaultDataDirectory(uid int, lookupEnv func(string) (string, bool)) (string, error) {
	if uid == 0 {
		return "/var/lib/fencepost", nil
	}
	if dir, _ := lookupEnv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fencepost"), nil
	}
	if home, _ := lookupEnv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "fencepost"), nil
	}
	return "", errors.New("there is no home directory for the data: name another with --data-dir")
}

// furnish gives a private PostgreSQL its schema, and its server a first user.
func (s *site) furnish(ctx context.Context, usersFile string) error {
	if err := schema.Up(ctx, s.databaseURL); err != nil {
		return err
	}
	s.usersFile = usersFile
	if s.usersFile == "" {
		s.usersFile = filepath.Join(s.dataDir, "users")
	}
	if _, err := os.Stat(s.usersFile); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.user, s.password = operator, auth.NewPassword()
	return auth.Add(s.usersFile, s.user, s.password)
}

// watch returns an error when a private PostgreSQL ends before ctx does.
func (s site) watch(ctx context.Context) error {
	select {
	case <-s.ended:
		return fmt.Errorf("the private PostgreSQL has ended; %s says why", filepath.Join(s.dataDir, "postgres", "postgres.log"))
	case <-ctx.Done():
		return nil
	}
}
