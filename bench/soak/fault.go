package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// fault is something that goes wrong.
type fault struct {
	name   string
	weight int
	happen func(context.Context) error
}

func (w *world) faults() []fault {
	faults := []fault{
		{"connections cut", 4, w.cutConnections},
		{"PostgreSQL restarted", 1, w.cluster.Restart},
		{"PostgreSQL crashed", 2, w.cluster.Crash},
	}
	for _, m := range w.members() {
		faults = append(faults, fault{m.name + " killed", 2, func(context.Context) error { m.kill(); return nil }})
	}
	return faults
}

// cutConnections ends every connection to the database but its own.
func (w *world) cutConnections(ctx context.Context) error {
	return w.query(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		return err
	})
}

// breakThings lets faults happen at random until ctx is done, and tells of each. Which ones, and when, follows from the seed.
func (w *world) breakThings(ctx context.Context, p plan, counts map[string]int, out io.Writer) {
	random := rand.New(rand.NewPCG(p.seed, 0)) //nolint:gosec // not a secret
	var lots []fault
	for _, f := range w.faults() {
		for range f.weight {
			lots = append(lots, f)
		}
	}
	began := time.Now()
	for {
		f, wait := lots[random.IntN(len(lots))], time.Duration(random.ExpFloat64()*float64(p.pause))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		err := f.happen(context.WithoutCancel(ctx)) // a database that is half-way down is started again
		counts[f.name]++
		fmt.Fprintf(out, "%6.1fs %s%s\n", time.Since(began).Seconds(), f.name, because(err))
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
