package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"fencepost/client"
)

// actions are what a client does, as often as their weights say.
var actions = []struct {
	name   string
	weight int
	do     func(*actor, context.Context) error
}{
	{"submit", 30, (*actor).submit},
	{"cancel", 14, (*actor).cancel},
	{"replay", 14, (*actor).replay},
	{"get", 16, (*actor).get},
	{"list", 6, (*actor).list},
	{"lineage", 8, (*actor).lineage},
	{"graphql", 8, (*actor).query},
	{"subscription", 4, (*actor).follow},
}

// act makes one call of a random kind.
func (a *actor) act(ctx context.Context) {
	chosen := actions[0]
	if len(a.jobs) > 0 {
		lot := a.random.IntN(100)
		for _, chosen = range actions {
			if lot -= chosen.weight; lot < 0 {
				break
			}
		}
	}
	began := time.Now()
	a.note(chosen.name, began, chosen.do(a, ctx))
}

// batch makes one to four records, one batch in eight with a record that no load takes.
func (a *actor) batch() (text []byte, records int) {
	records = 1 + a.random.IntN(4)
	lines := make([]string, records)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"%s-%d-%d"}`, a.name, a.calls, i)
	}
	if a.random.IntN(8) == 0 {
		lines[0] = `{"id":"bad","poison":true}`
	}
	return []byte("[" + strings.Join(lines, ",") + "]"), records
}

func (a *actor) submit(ctx context.Context) error {
	key := a.key()
	batch, records := a.batch()
	return a.create(ctx, uuid.Nil, mine{batch: batch, records: records}, func(ctx context.Context) (client.Accepted, error) {
		return a.api().Submit(ctx, key, batch)
	})
}

func (a *actor) replay(ctx context.Context) error {
	key, source := a.key(), a.job()
	return a.create(ctx, source.id, source, func(ctx context.Context) (client.Accepted, error) {
		return a.api().Replay(ctx, source.id, key, source.batch)
	})
}

// create makes a job, and one time in five asks once more under the same key, which must tell of the same job.
func (a *actor) create(ctx context.Context, source uuid.UUID, j mine, call func(context.Context) (client.Accepted, error)) error {
	accepted, err := cutOften(ctx, a, call)
	if err != nil {
		return err
	}
	j.id = accepted.ID
	a.log.accepted(j.id, source, j.records)
	a.remember(j)
	if a.random.IntN(5) > 0 {
		return nil
	}
	again, err := call(ctx)
	if err == nil && (again.ID != accepted.ID || !again.Replayed) {
		a.log.broke(fmt.Sprintf("%s and %s came from one key", accepted.ID, again.ID))
	}
	return err
}

func (a *actor) cancel(ctx context.Context) error {
	key, j := a.key(), a.newest()
	cancelled, err := cutOften(ctx, a, func(ctx context.Context) (client.Cancelled, error) {
		return a.api().Cancel(ctx, j.id, key)
	})
	if err == nil {
		a.log.saw(cancelled.ID, cancelled.Status)
	}
	return err
}

func (a *actor) get(ctx context.Context) error {
	job, err := a.api().Get(ctx, a.job().id)
	if err == nil {
		a.log.saw(job.ID, job.Status)
	}
	return err
}

// list reads the newest two pages.
func (a *actor) list(ctx context.Context) error {
	const page = 20
	seen := 0
	for job, err := range a.api().List(ctx, client.Filter{PageSize: page}) {
		if err != nil {
			return err
		}
		a.log.saw(job.ID, job.Status)
		if seen++; seen == 2*page {
			break
		}
	}
	return nil
}

func (a *actor) lineage(ctx context.Context) error {
	lineage, err := a.api().Lineage(ctx, a.job().id)
	if err != nil {
		return err
	}
	generations := map[uuid.UUID]int{}
	for _, job := range lineage.Jobs {
		a.log.saw(job.ID, job.Status)
		generations[job.ID] = job.Generation
		if source, known := generations[job.SourceID]; job.Generation > 0 && (!known || job.Generation != source+1) {
			a.log.broke(fmt.Sprintf("%s is generation %d of its lineage, behind %d", job.ID, job.Generation, source))
		}
	}
	return nil
}
