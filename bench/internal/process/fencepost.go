package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"fencepost/bench/internal/answer"
)

// Fencepost is the product's binary and a users file for it.
type Fencepost struct {
	Binary    string
	UsersFile string
	// Environment is added to that of its processes, each variable as name=value.
	Environment []string
}

// Password is the one that every user of a measurement has.
const Password = "bench-password"

// BuildFencepost builds the binary from the source above the bench module into dir.
func BuildFencepost(ctx context.Context, dir string) (*Fencepost, error) {
	f := &Fencepost{Binary: filepath.Join(dir, "fencepost"), UsersFile: filepath.Join(dir, "users")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", f.Binary, "./cmd/fencepost") //nolint:gosec // in a directory of our own
	build.Dir = ".."
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build fencepost: %w: %s", err, output)
	}
	return f, nil
}

// With is the same with further variables of the environment.
func (f *Fencepost) With(environment ...string) *Fencepost {
	with := *f
	with.Environment = append(slices.Clone(f.Environment), environment...)
	return &with
}

// AddUsers makes users in the users file.
func (f *Fencepost) AddUsers(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := f.run(ctx, Password, "users", "add", name, "--users-file", f.UsersFile, "--password-stdin"); err != nil {
			return err
		}
	}
	return nil
}

// Migrate brings a database to the product's schema.
func (f *Fencepost) Migrate(ctx context.Context, databaseURL string) error {
	return f.run(ctx, "", "migrate", "up", "--database-url", databaseURL)
}

func (f *Fencepost) run(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, f.Binary, args...) //nolint:gosec // the program that was just built
	cmd.Stdin = strings.NewReader(stdin)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fencepost %s: %w: %s", args[0], err, output)
	}
	return nil
}

// Server is a running "fencepost serve".
type Server struct {
	*Process
	// Address is where it serves, as host:port; Admin is where its metrics and profiles are.
	Address, Admin string
}

// Serve starts a server on a database. Without further arguments it runs no jobs.
func (f *Fencepost) Serve(ctx context.Context, databaseURL string, args ...string) (*Server, error) {
	address, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err := StartWith(ctx, f.Environment, f.Binary, append([]string{
		"serve", "--database-url", databaseURL, "--users-file", f.UsersFile,
		"--listen", address, "--admin-listen", admin, "--workers", "0",
	}, args...)...)
	if err != nil {
		return nil, err
	}
	return &Server{Process: p, Address: address, Admin: admin}, p.WaitUntilServing(ctx, "http://"+address+"/readyz")
}

// AnswerFromMemory starts this program itself, as a server for the product's users that has one answer to all requests. The answer lies in
// a file meanwhile.
func (f *Fencepost) AnswerFromMemory(ctx context.Context, a answer.Answer, path string) (p *Process, address string, err error) {
	if err := a.Write(path); err != nil {
		return nil, "", err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	if address, err = FreeAddress(ctx); err != nil {
		return nil, "", err
	}
	if p, err = Start(ctx, self, answer.Command, address, f.UsersFile, path); err != nil {
		return nil, "", err
	}
	return p, address, p.WaitUntilServing(ctx, "http://"+address)
}

// Work starts a worker on a database.
func (f *Fencepost) Work(ctx context.Context, databaseURL string, args ...string) (*Process, error) {
	admin, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err := StartWith(ctx, f.Environment, f.Binary, append([]string{
		"work", "--database-url", databaseURL, "--admin-listen", admin,
	}, args...)...)
	if err != nil {
		return nil, err
	}
	return p, p.WaitUntilServing(ctx, "http://"+admin+"/metrics")
}
