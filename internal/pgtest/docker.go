package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
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

func newDockerEngine(ctx context.Context, image string, settings []string) (*dockerEngine, error) {
	ports, err := publish(ctx, "5432/tcp", standbyPort+"/tcp")
	if err != nil {
		return nil, err
	}
	command := []string{"postgres"}
	for _, s := range settings {
		command = append(command, "-c", s)
	}
	c, err := postgres.Run(ctx, image, postgres.BasicWaitStrategies(), testcontainers.WithCmd(command...),
		testcontainers.WithExposedPorts(standbyPort+"/tcp"),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) { host.PortBindings = ports }))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run %s: %w", image, err), testcontainers.TerminateContainer(c))
	}
	address, err := c.ConnectionString(ctx, "sslmode=disable")
	return &dockerEngine{container: c, address: address}, err
}

// publish gives each port of a container one of the host's, which stays the same when the container is started again.
func publish(ctx context.Context, ports ...string) (network.PortMap, error) {
	published := network.PortMap{}
	for _, p := range ports {
		free, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		published[network.MustParsePort(p)] = []network.PortBinding{{HostPort: strconv.Itoa(free)}}
	}
	return published, nil
}

func (e *dockerEngine) url() string { return e.address }

func (e *dockerEngine) start(ctx context.Context) error { return e.container.Start(ctx) }

// stop sends the signal of the image, which asks for a fast shutdown.
func (e *dockerEngine) stop(ctx context.Context) error { return e.container.Stop(ctx, nil) }

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
