// Command fencepost serves and runs durable ETL jobs; `fencepost --help` lists what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fencepost/internal/command"
)

// main turns the first SIGINT or SIGTERM into the end of the context. A second one ends the process at once.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, command.Shell{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv}, os.Args[1:]))
}
