package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/bench/internal/books"
	"fencepost/bench/internal/cluster"
	"fencepost/bench/internal/process"
)

// loadSQL is the statement of the jobs: it takes up to two seconds, so that cancellations and faults meet it half-way, and fails for
// good on a record that has a member "poison".
const loadSQL = `
INSERT INTO processed_data
SELECT @owner::bytea, @job_record_id::uuid, ordinal, record ->> 'id', record
FROM jsonb_array_elements(@records::jsonb) WITH ORDINALITY AS element (record, ordinal), pg_sleep(2 * random())
WHERE 1 / (NOT record ? 'poison')::integer = 1`

// settlePatience is how long the workers may take for what is left at the end.
const settlePatience = 2 * time.Minute

// world is the system under test: PostgreSQL, two servers, two workers, and the users of the clients.
type world struct {
	dir     string
	cluster *cluster.Cluster
	url     string
	users   []string
	servers []*member
	workers []*member
	running sync.WaitGroup
	stop    context.CancelFunc
}

func openWorld(ctx context.Context, postgresBin string) (*world, error) {
	dir, err := os.MkdirTemp("", "fencepost-soak-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, users: []string{"ann", "bob", "cy"}, stop: func() {}}
	if err := w.start(ctx, postgresBin); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) start(ctx context.Context, postgresBin string) error {
	program, err := process.BuildFencepost(ctx, w.dir)
	if err != nil {
		return err
	}
	if err = program.AddUsers(ctx, w.users...); err != nil {
		return err
	}
	if w.cluster, err = cluster.Start(ctx, "", postgresBin); err != nil {
		return err
	}
	if w.url, err = w.cluster.Create(ctx, "soak"); err != nil {
		return err
	}
	load := filepath.Join(w.dir, "load.sql")
	err = errors.Join(os.WriteFile(load, []byte(loadSQL), 0o600), program.Migrate(ctx, w.url))
	if err != nil {
		return err
	}
	return w.startMembers(ctx, program, load)
}

// startMembers starts the processes and returns when all of them answer.
func (w *world) startMembers(ctx context.Context, program *process.Fencepost, load string) error {
	running, stop := context.WithCancel(ctx)
	w.stop = stop
	for number := range 2 {
		server, err := newMember(ctx, program.Binary, fmt.Sprint("server ", number+1), "serve", "--database-url", w.url,
			"--users-file", program.UsersFile, "--workers", "0", "--lock-timeout", "500ms", "--log-level", "error")
		if err != nil {
			return err
		}
		worker, err := newMember(ctx, program.Binary, fmt.Sprint("worker ", number+1), "work", "--database-url", w.url,
			"--load-sql-file", load, "--workers", "16", "--pool-size", "20", "--lease-duration", "5s", "--poll-interval", "200ms",
			"--retry-backoff", "200ms", "--max-attempts", "8", "--log-level", "error")
		if err != nil {
			return err
		}
		w.servers, w.workers = append(w.servers, server), append(w.workers, worker)
	}
	for _, m := range w.members() {
		w.running.Go(func() { m.keepRunning(running) })
	}
	for _, m := range w.members() {
		if err := m.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) members() []*member { return slices.Concat(w.servers, w.workers) }

// settle returns when no job is active any more, or when that takes too long; the balance sheet tells what is left.
func (w *world) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	for {
		active := -1
		err := w.query(ctx, func(conn *pgx.Conn) (err error) {
			active, err = books.Active(ctx, conn)
			return err
		})
		if ctx.Err() != nil || active == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		<-time.After(200 * time.Millisecond)
	}
}

// query runs something on a connection of its own.
func (w *world) query(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, w.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(conn)
}

func (w *world) close() error {
	w.stop()
	w.running.Wait()
	var err error
	if w.cluster != nil {
		err = w.cluster.Stop()
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}
