// Command bench measures Fencepost against the floor, which is PostgreSQL alone, and against its peers. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"fencepost/bench/internal/answer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start runs the benchmark, or the part of it that is a process of its own.
func start(ctx context.Context, args []string) error {
	if len(args) == 4 && args[0] == answer.Command {
		return answer.Serve(ctx, args[1], args[2], args[3])
	}
	return run(ctx, args)
}

// options are the flags.
type options struct {
	profile     string
	only        string
	postgresBin string
	dataDir     string
	reportDir   string
	noPeers     bool
	against     string
	serveFlags  string
	workFlags   string
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.profile, "profile", "quick", "how large and how long: smoke, quick, full, cliffs or tracing")
	flags.StringVar(&o.only, "only", "", "measure only the operations whose title holds this text, or one of several with commas between them")
	flags.StringVar(&o.postgresBin, "postgres-bin", "", "directory of the PostgreSQL programs; looked for when empty")
	flags.StringVar(&o.dataDir, "data", "", "directory under which the data lies; it should be on a real disk")
	flags.StringVar(&o.reportDir, "report", "reports", "directory of the report")
	flags.BoolVar(&o.noPeers, "no-peers", false, "leave out River and PostGraphile")
	flags.StringVar(&o.against, "against", "", "an older fencepost binary, which takes turns with this version; both must have the same schema")
	flags.StringVar(&o.serveFlags, "serve-flags", "", `further flags of "fencepost serve"`)
	flags.StringVar(&o.workFlags, "work-flags", "", `further flags of "fencepost work"`)
	if err := flags.Parse(args); err != nil {
		return err
	}
	profile, err := profileNamed(o.profile)
	if err != nil {
		return err
	}
	s, err := openSuite(ctx, profile, o)
	if err != nil {
		return err
	}
	r, err := s.measure(ctx, o.only)
	r.Command = strings.TrimSpace("go run . " + strings.Join(args, " "))
	return errors.Join(err, s.close(), r.Write(o.reportDir))
}
