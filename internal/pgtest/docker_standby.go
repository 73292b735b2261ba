package pgtest

import (
	"context"
	"fmt"
	"io"

	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// dockerStandby is a second server in the container of the first.
type dockerStandby struct {
	container *postgres.PostgresContainer
	address   string
}

const (
	standbyPort = "5433"
	standbyDir  = "/tmp/standby"
)

func (e *dockerEngine) standby(ctx context.Context) (ownedEngine, error) {
	s := &dockerStandby{container: e.container}
	if err := s.run(ctx, "pg_basebackup", "-h", "/var/run/postgresql", "-U", "postgres", "-D", standbyDir, "-R", "-c", "fast"); err != nil {
		return nil, err
	}
	endpoint, err := e.container.PortEndpoint(ctx, standbyPort+"/tcp", "")
	if err != nil {
		return nil, err
	}
	s.address = "postgres://postgres:postgres@" + endpoint + "/postgres?sslmode=disable"
	return s, s.start(ctx)
}

// run executes a program in the container as the user that PostgreSQL runs as.
func (s *dockerStandby) run(ctx context.Context, command ...string) error {
	code, output, err := s.container.Exec(ctx, command, tcexec.WithUser("postgres"), tcexec.Multiplexed())
	if err == nil && code != 0 {
		text, _ := io.ReadAll(output)
		err = fmt.Errorf("%s: exit code %d: %s", command[0], code, text)
	}
	return err
}

func (s *dockerStandby) url() string { return s.address }

func (s *dockerStandby) start(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "-D", standbyDir, "-l", standbyDir+".log", "-w", "-o", "-p "+standbyPort+" -c listen_addresses='*'", "start")
}

func (s *dockerStandby) stop(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "-D", standbyDir, "-m", "fast", "stop")
}

func (s *dockerStandby) crash(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "-D", standbyDir, "-m", "immediate", "stop")
}

// remove does nothing, since the container takes it away.
func (s *dockerStandby) remove() error { return nil }
