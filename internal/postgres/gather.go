package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
)

// gatheredSQL reads the job of each pair of an owner and an id, and tells by its place which one it is. The arrays are
// subqueries so that those of all lengths look the same to the planner, which then plans but once.
const gatheredSQL = `
SELECT ` + jobColumns + `, place
FROM unnest((SELECT $1::bytea[]), (SELECT $2::uuid[])) WITH ORDINALITY AS wanted (owner, id, place)
JOIN etl_job_records ON principal_scope_hash = owner AND job_record_id = id`

// gatheredAtOnce is the most reads that go into one statement.
const gatheredAtOnce = 100

// A gatherer reads single jobs. Those that are wanted while its statement is under way gather, and go together in the next one:
// the busier the server, the more of them share a round trip. One that is wanted when nothing is under way goes at once.
type gatherer struct {
	store *Store

	mu      sync.Mutex
	waiting []*gathered
	running bool
}

// gathered is one of the reads. Its results may be read once done is closed.
type gathered struct {
	owner job.Owner
	id    uuid.UUID
	done  chan struct{}
	jobs  []job.Job // the job, if there is one
	err   error
}

// read reads one job of an owner, if there is one.
func (g *gatherer) read(ctx context.Context, owner job.Owner, id uuid.UUID) ([]job.Job, error) {
	r := &gathered{owner: owner, id: id, done: make(chan struct{})}
	g.add(r)
	select {
	case <-r.done:
		return r.jobs, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("jobs: %w", ctx.Err())
	}
}

func (g *gatherer) add(r *gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, r)
	if !g.running {
		g.running = true
		go g.run()
	}
}

// run sends one statement after the other for as long as there are reads.
func (g *gatherer) run() {
	for reads := g.take(); len(reads) > 0; reads = g.take() {
		g.send(reads)
	}
}

// take takes the reads of the next statement. Without any, the one before was the last for now.
func (g *gatherer) take() []*gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), gatheredAtOnce)
	reads := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	g.running = n > 0
	return reads
}

// send is nobody's own call, so it is bounded by the call timeout alone.
func (g *gatherer) send(reads []*gathered) {
	owners, ids := make([][]byte, len(reads)), make([]uuid.UUID, len(reads))
	for i, r := range reads {
		owners[i], ids[i] = r.owner[:], r.id
	}
	found, err := query(context.Background(), g.store, "jobs", scanPlaced, gatheredSQL, owners, ids)
	for _, p := range found {
		reads[p.place-1].jobs = []job.Job{p.Job}
	}
	for _, r := range reads {
		r.err = err
		close(r.done)
	}
}

// placed is a job with the place of the read that it answers, from 1 on.
type placed struct {
	job.Job
	place int
}

func scanPlaced(row pgx.CollectableRow) (p placed, err error) {
	p.Job, err = scanJob(row, &p.place)
	return p, err
}
