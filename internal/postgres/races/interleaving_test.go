package races

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// A search over interleavings: each actor is a transaction of explicit statements on a connection of its own, and a search
// plays every order in which the statements of its actors can follow one another. A statement that waits for a lock is left
// waiting, and its actor goes on when the lock is free; the others go on meanwhile. So each order has one certain course.

// A step is one statement of a transaction. It reports false when the statement matched nothing, upon which the actor rolls
// back, as the store does.
type step func(ctx context.Context, tx pgx.Tx) (matched bool, err error)

// An actor is one transaction. It ends with the commit, which is a step of its own unless the actor commits at once.
type actor struct {
	name  string
	steps []step
	// makes is the status that the job has when the actor has committed, or "" when it moves no job.
	makes job.Status
	// atOnce makes the commit part of the last statement's step.
	atOnce bool
	// byAdmin is for what the server's role may not do.
	byAdmin bool
}

// turns is the number of steps with the commit.
func (a actor) turns() int {
	if a.atOnce {
		return len(a.steps)
	}
	return len(a.steps) + 1
}

// committingAtOnce is the actor without a step between its last statement and its commit.
func (a actor) committingAtOnce() actor {
	a.atOnce = true
	return a
}

// An outcome is how an actor ended in one order.
type outcome struct {
	actor
	committed bool
	err       error
}

// interleavings yields every order in which actors with so many steps can take them, as indexes of actors.
func interleavings(steps []int) iter.Seq[[]int] {
	return func(yield func([]int) bool) { interleave(slices.Clone(steps), nil, yield) }
}

func interleave(left, order []int, yield func([]int) bool) bool {
	if !slices.ContainsFunc(left, func(n int) bool { return n > 0 }) {
		return yield(order)
	}
	for i := range left {
		if left[i] == 0 {
			continue
		}
		left[i]--
		goOn := interleave(left, append(slices.Clip(order), i), yield)
		left[i]++
		if !goOn {
			return false
		}
	}
	return true
}

// player takes the steps of one actor.
type player struct {
	outcome
	tx      pgx.Tx
	turns   int           // that it was given and has not taken
	running chan struct{} // closed at the end of its present step, nil between steps
	ended   bool
}

// take starts the next step in the background.
func (p *player) take(ctx context.Context) {
	p.turns--
	p.running = make(chan struct{})
	go func() {
		defer close(p.running)
		p.step(ctx)
	}()
}

func (p *player) step(ctx context.Context) {
	switch {
	case p.ended:
		return
	case len(p.steps) == 0:
		p.commit(ctx)
		return
	}
	matched, err := p.steps[0](ctx, p.tx)
	p.steps = p.steps[1:]
	switch {
	case err != nil || !matched:
		p.err, p.ended = err, true
		_ = p.tx.Rollback(ctx)
	case p.atOnce && len(p.steps) == 0:
		p.commit(ctx)
	}
}

func (p *player) commit(ctx context.Context) {
	p.err = p.tx.Commit(ctx)
	p.committed, p.ended = p.err == nil, true
}

// stage is where one order is played.
type stage struct {
	*world
	players []*player
}

// play gives each actor its turns in the order, and returns how they ended.
func (w *world) play(actors []actor, order []int) []outcome {
	w.Helper()
	s := stage{world: w}
	for _, a := range actors {
		begin := w.Begin
		if a.byAdmin {
			begin = w.BeginAsAdmin
		}
		s.players = append(s.players, &player{outcome: outcome{actor: a}, tx: begin()})
	}
	for _, i := range order {
		s.players[i].turns++
		s.settle()
	}
	var outcomes []outcome
	for _, p := range s.players {
		for p.running != nil || p.turns > 0 {
			s.settle() // the last ones wait for each other: the server breaks the deadlock
		}
		outcomes = append(outcomes, p.outcome)
	}
	return outcomes
}

// settle lets every actor go on until it has taken its turns or waits for a lock.
func (s *stage) settle() {
	s.Helper()
	for moving := true; moving; {
		moving = false
		for _, p := range s.players {
			if p.running != nil && isClosed(p.running) {
				p.running = nil
				moving = true // and so may be those before it, which were seen waiting for its locks
			}
			if p.running == nil && p.turns > 0 {
				p.take(s.Context())
			}
			moving = moving || p.running != nil && !s.blocked(p)
		}
	}
}

// blocked reports whether the player waits for a lock of another transaction.
func (s *stage) blocked(p *player) bool {
	s.Helper()
	var blocked bool
	require.NoError(s, s.Admin.QueryRow(s.Context(), "SELECT cardinality(pg_blocking_pids($1)) > 0", p.tx.Conn().PgConn().PID()).Scan(&blocked))
	return blocked
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// search plays every order of the actors that setup makes, each on new rows, and returns in how many of them each set
// of actors committed, such as "cancel" or "execute replay".
func (w *world) search(setup func() []actor) map[string]int {
	w.Helper()
	var steps []int
	for _, a := range setup() {
		steps = append(steps, a.turns())
	}
	seen := map[string]int{}
	for order := range interleavings(steps) {
		w.MustExec(`WITH data AS (DELETE FROM processed_data), ledger AS (DELETE FROM etl_idempotency_records),
			attempts AS (DELETE FROM etl_job_attempts) DELETE FROM etl_job_records`)
		outcomes := w.play(setup(), order)
		w.requireBalance(outcomes, order)
		var committed []string
		for _, o := range outcomes {
			if o.committed {
				committed = append(committed, o.name)
			}
		}
		seen[strings.Join(committed, " ")]++
	}
	return seen
}

// unbalancedSQL counts the rows that no order of statements may leave behind: effects or ledger without success or success
// without them, effects without a job, and replays of a source that can't have been replayed.
const unbalancedSQL = `
SELECT (SELECT count(*) FROM etl_job_records AS j
		WHERE (SELECT count(*) FROM etl_idempotency_records AS l
				WHERE (l.principal_scope_hash, l.job_record_id) = (j.principal_scope_hash, j.job_record_id))
			<> CASE WHEN job_status = 'SUCCEEDED' THEN 1 ELSE 0 END
		OR (SELECT count(*) FROM processed_data AS d
				WHERE (d.principal_scope_hash, d.job_record_id) = (j.principal_scope_hash, j.job_record_id))
			<> CASE WHEN job_status = 'SUCCEEDED' THEN record_count ELSE 0 END)
	+ (SELECT count(*) FROM processed_data WHERE job_record_id NOT IN (SELECT job_record_id FROM etl_job_records))
	+ (SELECT count(*) FROM etl_job_records AS j
		LEFT JOIN etl_job_records AS s ON s.job_record_id = j.replay_source_job_record_id
		WHERE j.replay_source_job_record_id IS NOT NULL
		AND (s.job_status IN ('FAILED', 'CANCELLED') AND j.request_digest = s.request_digest
			AND j.replay_generation_count = coalesce(s.replay_generation_count, 0) + 1) IS NOT TRUE)`

// requireBalance checks what must hold after any order: the books balance, at most one actor ended the job, and if one did
// the job has the status that it made, unless it was deleted.
func (w *world) requireBalance(outcomes []outcome, order []int) {
	w.Helper()
	var ended []job.Status
	for _, o := range outcomes {
		if o.committed && o.makes.Terminal() {
			ended = append(ended, o.makes)
		}
	}
	var (
		unbalanced int
		roots      []job.Status // the terminal ones
	)
	require.NoError(w, w.Admin.QueryRow(w.Context(), unbalancedSQL).Scan(&unbalanced))
	require.NoError(w, w.Admin.QueryRow(w.Context(), `SELECT array_agg(job_status) FILTER
		(WHERE job_status NOT IN ('PENDING', 'RUNNING') AND replay_source_job_record_id IS NULL) FROM etl_job_records`).Scan(&roots))
	require.Zero(w, unbalanced, "order %v: %v", order, outcomes)
	require.LessOrEqual(w, len(ended), 1, "order %v: %v", order, outcomes)
	if slices.ContainsFunc(outcomes, func(o outcome) bool { return o.committed && slices.Contains([]string{"delete", "purge"}, o.name) }) {
		ended = nil
	}
	require.Subset(w, roots, ended, "order %v: %v", order, outcomes)
}
