package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"fencepost/bench/internal/process"
	"fencepost/client"
	"fencepost/jobtype"
)

// remembered is how many of its latest jobs an actor acts on.
const remembered = 40

// actor is one client: a user's program that makes one call after the other, each at a server of its choice.
type actor struct {
	log    *log
	random *rand.Rand
	user   string
	name   string
	apis   []*client.Client
	bases  []string
	http   *http.Client
	jobs   []mine
	calls  int
}

// mine is a job of the actor's own, with its batch for a replay.
type mine struct {
	id      uuid.UUID
	batch   []byte
	records int
}

// drive lets all clients act, and the faults happen, for as long as the plan says. A call that has begun is finished.
func (w *world) drive(ctx context.Context, p plan, l *log, out io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.minutes*float64(time.Minute)))
	defer cancel()
	var all sync.WaitGroup
	pace := rate.NewLimiter(rate.Limit(p.rate), 1)
	for number := range p.clients {
		a := w.newActor(l, p.seed, number)
		all.Go(func() {
			for pace.Wait(ctx) == nil {
				a.act(context.WithoutCancel(ctx))
			}
		})
	}
	all.Go(func() { w.breakThings(ctx, p, l.faults, out) })
	all.Wait()
}

func (w *world) newActor(l *log, seed uint64, number int) *actor {
	a := &actor{
		log:    l,
		random: rand.New(rand.NewPCG(seed, uint64(number)+1)), //nolint:gosec // not a secret
		user:   w.users[number%len(w.users)],
		name:   fmt.Sprint("client-", number),
		http:   &http.Client{},
	}
	for _, server := range w.servers {
		base := "http://" + server.address
		api, err := client.New(client.WithBaseURL(base), client.WithCredentials(a.user, process.Password),
			client.WithRetryNotice(func(error, time.Duration) { l.retried() }))
		if err != nil {
			panic(err) // the address is one
		}
		a.apis, a.bases = append(a.apis, api), append(a.bases, base)
	}
	return a
}

func (a *actor) api() *client.Client { return a.apis[a.random.IntN(len(a.apis))] }

func (a *actor) base() string { return a.bases[a.random.IntN(len(a.bases))] }

// job picks one of the latest jobs; there is one after the first submission.
func (a *actor) job() mine { return a.jobs[a.random.IntN(len(a.jobs))] }

// newest is the job that is most likely to be active.
func (a *actor) newest() mine { return a.jobs[len(a.jobs)-1] }

func (a *actor) remember(j mine) {
	if a.jobs = append(a.jobs, j); len(a.jobs) > remembered {
		a.jobs = a.jobs[1:]
	}
}

// key is new each time, and the same in every run with the seed.
func (a *actor) key() string {
	a.calls++
	return fmt.Sprintf("%s-%d", a.name, a.calls)
}

// expected are the refusals that a client meets in the ordinary course of things.
var expected = map[client.Code]bool{
	jobtype.CodeAlreadySucceeded: true, jobtype.CodeAlreadyFailed: true, jobtype.CodeCancellationKeyReused: true,
	jobtype.CodeReplaySourceActive: true, jobtype.CodeReplaySourceSucceeded: true, jobtype.CodeReplayGenerationExhausted: true,
}

// note records a call, and tells an answer that must not be from one that did not come.
func (a *actor) note(action string, began time.Time, err error) {
	problem, answered := errors.AsType[*client.Problem](err)
	switch {
	case err == nil:
		a.log.took(action, time.Since(began), "", true)
	case answered && expected[problem.Code]:
		a.log.took(action, time.Since(began), string(problem.Code), true)
	case answered && !problem.Temporary():
		a.log.broke(fmt.Sprintf("%s was refused with %s", action, problem.Code))
	default:
		a.log.took(action, time.Since(began), "no answer", action != "submit" && action != "replay")
	}
}

// cutOften makes one call in eight twice under the same key: the first one gives up after some milliseconds, as a client does that
// loses its connection, and only the second one counts.
func cutOften[T any](ctx context.Context, a *actor, call func(context.Context) (T, error)) (T, error) {
	if a.random.IntN(8) == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(a.random.IntN(8000))*time.Microsecond)
		_, err := call(short)
		cancel()
		if err != nil {
			a.log.wasCut()
		}
	}
	return call(ctx)
}
