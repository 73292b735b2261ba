// Command soak runs the product for some minutes under mixed traffic and faults, and then audits its books. It ends with status 1
// when they do not balance, or when the run itself met something that must not happen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// plan is what the flags ask for.
type plan struct {
	minutes     float64
	seed        uint64
	clients     int
	rate        float64
	pause       time.Duration
	postgresBin string
}

var errUnbalanced = errors.New("the books do not balance")

func run(ctx context.Context, out io.Writer, args []string) error {
	var p plan
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.Float64Var(&p.minutes, "minutes", 1, "how long the traffic lasts")
	flags.Uint64Var(&p.seed, "seed", rand.Uint64(), "seed of the faults and of what each client does") //nolint:gosec // not a secret
	flags.IntVar(&p.clients, "clients", 24, "clients, each of which makes one call at a time")
	flags.Float64Var(&p.rate, "rate", 40, "calls in a second, all clients together")
	flags.DurationVar(&p.pause, "fault-every", 15*time.Second, "mean time between two faults")
	flags.StringVar(&p.postgresBin, "postgres-bin", "", "directory of the PostgreSQL programs; looked for when empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fmt.Fprintf(out, "soak of %g minutes, seed %d, %d clients, %g calls a second\n\n", p.minutes, p.seed, p.clients, p.rate)
	w, err := openWorld(ctx, p.postgresBin)
	if err != nil {
		return err
	}
	faults, err := w.soak(ctx, p, out)
	if err = errors.Join(err, w.close()); err == nil && len(faults) > 0 {
		err = errUnbalanced
	}
	return err
}

// soak drives the traffic and the faults, waits until the work is done, and prints the balance sheet. It returns what is wrong.
func (w *world) soak(ctx context.Context, p plan, out io.Writer) ([]string, error) {
	before := w.vitals(ctx)
	log := newLog()
	w.drive(ctx, p, log, out)
	if err := w.settle(ctx); err != nil {
		return nil, err
	}
	sheet, err := w.balance(ctx, log)
	if err != nil {
		return nil, err
	}
	sheet.before, sheet.after = before, w.vitals(ctx)
	return sheet.faults, sheet.print(out)
}
