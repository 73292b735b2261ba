package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// LargeOwner reads the jobs of one owner with a great many of them, of one with a usual number, and of one with a single job.
type LargeOwner struct{}

// Title implements Operation.
func (LargeOwner) Title() string { return "one owner with most jobs" }

const (
	// usualPart of the jobs of the large owner are those of a usual one; the others have a fifth together.
	usualPart, othersPart = 100, 5
	// rare is how many jobs of each of the two have failed, and as many are replays.
	rare = 10
	// oneAfterTheOther is over how many requests a time is taken; over fewer, when they have taken oneByOneTime.
	oneAfterTheOther = 20
	oneByOneTime     = 10 * time.Second
)

// Measure implements Operation.
func (o LargeOwner) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	large := seed.Share{User: 0, First: 20_000_000, Count: e.Cliffs.OwnerJobs, Failed: rare}
	usual := seed.Share{User: 1, First: 10_000_000, Count: large.Count / usualPart, Failed: rare}
	single := seed.Share{User: 2, First: 30_000_000, Count: 1}
	others := seed.Share{User: seed.Others, Count: large.Count / othersPart, Failed: large.Count / othersPart / 20}
	url, err := e.Empty(ctx, "large_owner")
	if err != nil {
		return compare.Result{}, err
	}
	if err := seed.Shares(ctx, url, others, usual, large, single); err != nil {
		return compare.Result{}, err
	}
	db, err := e.serve(ctx, "large_owner", url)
	if err != nil {
		return compare.Result{}, err
	}
	r, err := o.rates(ctx, e, db, large, usual)
	if err == nil {
		err = o.times(ctx, db, &r, large, single)
	}
	return r, err
}

// rates compares what every owner asks for.
func (o LargeOwner) rates(ctx context.Context, e *Env, db *Database, large, usual seed.Share) (compare.Result, error) {
	prefix, err := cursorPrefix(ctx, db)
	if err != nil {
		return compare.Result{}, err
	}
	c := compare.Comparison{Name: o.Title()}
	for _, read := range []struct {
		of      string
		request func(s seed.Share) target.Request
	}{
		{"job by id", func(s seed.Share) target.Request { return jobRequest(s.User, s.Any()) }},
		{"list of 50 jobs", func(s seed.Share) target.Request { return listRequest(s.User, prefix, s.Behind()) }},
		{"lineage of 2 jobs", func(s seed.Share) target.Request { return lineageRequest(s.User, s.AnyFailed()) }},
	} {
		over := rest(db, func(int64) target.Request { return read.request(large) })
		under := rest(db, func(int64) target.Request { return read.request(usual) })
		over.Label, under.Label = read.of+", large owner", read.of+", usual owner"
		c.Targets = append(c.Targets, over, under)
		c.Goals = append(c.Goals, compare.Goal{
			Name: fmt.Sprintf("%s rate, owner with %s jobs / with %s", read.of, name(large.Count), name(usual.Count)),
			Over: over.Label, Under: under.Label, Must: 0.5, Aim: 0.8,
		})
	}
	return c.Run(ctx, e.Reads, e.Cluster.Checkpoint)
}

const countsDocument = `query Counts { jobStatusCounts { status count } }`

// times adds how long it takes to find what is rare, or to look at all.
func (LargeOwner) times(ctx context.Context, db *Database, r *compare.Result, large, single seed.Share) error {
	list := func(user int, query, want string) target.Request {
		return target.Request{User: user, Method: "GET", Path: "/api/etl/jobs?limit=50" + query, Want: want}
	}
	for _, read := range []struct {
		name      string
		request   target.Request
		must, aim float64
	}{
		{"list of 10 failed jobs", list(large.User, "&status=FAILED", `"FAILED"`), 50, 10},
		{"list of 10 replays", list(large.User, "&replay=true", `"SUCCEEDED"`), 50, 10},
		{"list of the owner with a single job", list(single.User, "", `"SUCCEEDED"`), 50, 10},
		{"jobStatusCounts", target.GraphQL(large.User, countsDocument, "{}", fmt.Sprintf(`"count":%d`, large.Count-rare)), 3000, 1000},
	} {
		median, greatest, err := oneByOne(ctx, db, read.request)
		if errors.Is(err, load.ErrMiss) { // such as a timeout
			r.Void = read.name + ": " + err.Error()
			continue
		}
		if err != nil {
			return err
		}
		r.Goals = append(r.Goals, compare.AtMost(read.name+" beside "+name(large.Count)+" jobs, median", "ms", read.must, read.aim, median))
		r.Numbers = append(r.Numbers, compare.Number{Name: read.name + ", greatest", Value: greatest, Unit: "ms"})
	}
	return nil
}

// oneByOne makes the same request several times and returns how long it took in milliseconds.
func oneByOne(ctx context.Context, db *Database, r target.Request) (median, greatest float64, err error) {
	all := load.NewHistogram()
	for first := time.Now(); all.TotalCount() < oneAfterTheOther && time.Since(first) < oneByOneTime; {
		began := time.Now()
		body, err := send(ctx, db.Server.Address, r)
		if err != nil {
			return 0, 0, err
		}
		_ = all.RecordValue(time.Since(began).Microseconds()) // in range
		if !strings.Contains(body, r.Want) {
			return 0, 0, fmt.Errorf("%w: no %s in %.300s", load.ErrMiss, r.Want, body)
		}
	}
	return quantile(all, 50), quantile(all, 100), nil
}
