package pgtest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

const (
	defaultImage   = "postgres:18-alpine"
	dockerPatience = 5 * time.Second
)

// dockerEngine is a server in a container.
type dockerEngine struct {
	container *postgres.PostgresContainer
	address   string
}

func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return false
	}
	defer provider.Close()
	return provider.Health(ctx) == nil
}

func newDockerEngine(ctx context.Context, settings []string) (*dockerEngine, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	command := []string{"postgres"}
	for _, s := range settings {
		command = append(command, "-c", s)
	}
	image := cmp.Or(os.Getenv(imageVariable), defaultImage)
	// A port of our own choice stays the same when the container is started again.
	container, err := postgres.Run(ctx, image, postgres.BasicWaitStrategies(), testcontainers.WithCmd(command...),
		testcontainers.WithExposedPorts(fmt.Sprintf("127.0.0.1:%d:5432/tcp", port)))
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", image, err)
	}
	address, err := container.ConnectionString(ctx, "sslmode=disable")
	return &dockerEngine{container: container, address: address}, err
}

func (e *dockerEngine) url() string { return e.address }

func (e *dockerEngine) start(ctx context.Context) error { return e.container.Start(ctx) }

// crash gives the server no time to shut down.
func (e *dockerEngine) crash(ctx context.Context) error {
	noTime := time.Duration(0)
	return e.container.Stop(ctx, &noTime)
}

func (e *dockerEngine) remove() error { return testcontainers.TerminateContainer(e.container) }

func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
