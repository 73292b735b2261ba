package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
	"fencepost/bench/internal/target"
)

// Subscriptions reads jobs, and cancels them, while a great many subscribers follow jobs of their own.
type Subscriptions struct{}

// Title implements Operation.
func (Subscriptions) Title() string { return "subscriptions" }

// eventPatience is how long is waited for an event: the server looks again by itself in less.
const eventPatience = 30 * time.Second

// followed is a database with subscribers, who come and go.
type followed struct {
	*Database
	first, count int64
	streams      *target.Streams
	// memory is what the server had taken when the first subscribers came, in bytes; it had answered reads by then.
	memory int64
}

// Measure implements Operation.
func (o Subscriptions) Measure(ctx context.Context, e *Env) (r compare.Result, err error) {
	f, err := o.prepare(ctx, e)
	if err != nil {
		return r, err
	}
	defer f.leave()
	if r, err = f.rates(ctx, e, o.Title()); err != nil {
		return r, err
	}
	after, err := f.Server.PeakMemory()
	if err != nil {
		return r, err
	}
	r.Goals = append(r.Goals, compare.AtMost("resident memory of serve for each of "+name(f.count)+" subscriptions", "KiB", 100, 50,
		float64(after-f.memory)/float64(f.count)/(1<<10)))
	if err := errors.Join(f.come(ctx), target.SignIn(f.Server.Address)); err != nil {
		return r, err
	}
	timed := min(e.Timed, f.count)
	if err := f.cancelEach(ctx, &r, timed); err != nil {
		return r, err
	}
	return r, f.cancelRest(ctx, &r, timed)
}

func (Subscriptions) prepare(ctx context.Context, e *Env) (*followed, error) {
	url, err := e.Empty(ctx, "subscriptions")
	if err != nil {
		return nil, err
	}
	f := &followed{count: e.Cliffs.Streams}
	most := fmt.Sprint(2 * f.count) // those that just left may not be gone yet
	if f.Database, err = e.serve(ctx, "subscriptions", url, "--max-streams", most, "--max-streams-per-owner", most); err != nil {
		return nil, err
	}
	f.first, err = f.Fuel.Flood(ctx, seed.Flood{User: seed.Everyone, Count: f.count, Lease: time.Hour})
	return f, err
}

// come opens the subscriptions unless they are open.
func (f *followed) come(ctx context.Context) (err error) {
	if f.streams != nil {
		return nil
	}
	if f.memory == 0 {
		if f.memory, err = f.Server.PeakMemory(); err != nil {
			return err
		}
	}
	f.streams, err = target.OpenStreams(ctx, f.Server.Address, f.first, f.count)
	return err
}

func (f *followed) leave() {
	if f.streams != nil {
		f.streams.Close()
		f.streams = nil
	}
}

// among is a target that is asked while subscribers are there, or while none is.
type among struct {
	*target.HTTP
	arrange func(ctx context.Context) error
}

// Prepare implements compare.Target.
func (a among) Prepare(ctx context.Context, ops int64) error {
	return errors.Join(a.arrange(ctx), a.HTTP.Prepare(ctx, ops))
}

// rates compares reads with and without subscribers. Those stay from one pass to the next, since every second is backwards.
func (f *followed) rates(ctx context.Context, e *Env, title string) (compare.Result, error) {
	read := func(label string, arrange func(context.Context) error) compare.Target {
		t := rest(f.Database, func(number int64) target.Request {
			row := f.first + number%f.count
			return jobRequest(int(row%seed.Users), row)
		})
		t.Label = label
		return among{t, arrange}
	}
	without, with := "REST job without subscriptions", "REST job with subscriptions"
	c := compare.Comparison{Name: title, Targets: []compare.Target{
		read(without, func(context.Context) error { f.leave(); return nil }), read(with, f.come),
	}, Goals: []compare.Goal{{
		Name: "REST job rate with " + name(f.count) + " subscriptions / without", Over: with, Under: without, Must: 0.5, Aim: 0.8,
	}}}
	return c.Run(ctx, e.Reads, e.Cluster.Checkpoint)
}

// cancelEach cancels one job after the other, and waits until its subscriber has been told.
func (f *followed) cancelEach(ctx context.Context, r *compare.Result, count int64) error {
	all := load.NewHistogram()
	for row := f.first; row < f.first+count; row++ {
		began := time.Now()
		if _, err := send(ctx, f.Server.Address, restCancel(row)); err != nil {
			return err
		}
		told, err := f.told(ctx, row)
		if err != nil {
			return err
		}
		_ = all.RecordValue(max(1, told.Sub(began).Microseconds())) // in range
	}
	r.Goals = append(r.Goals, compare.AtMost("cancel → event, "+name(f.count)+" subscriptions, p99", "ms", 500, 100, quantile(all, 99)))
	r.Numbers = append(r.Numbers, compare.Number{Name: "cancel → event, p50", Value: quantile(all, 50), Unit: "ms"})
	return nil
}

// cancelRest cancels all other jobs as fast as possible, and waits until all subscribers have been told.
func (f *followed) cancelRest(ctx context.Context, r *compare.Result, done int64) error {
	left := f.count - done
	t := rest(f.Database, func(n int64) target.Request { return restCancel(f.first + done + n) })
	began := time.Now()
	sample, err := t.Run(ctx, load.Bound{Ops: left})
	if err != nil {
		return err
	}
	if sample.Ops < left {
		r.Void = "not all jobs were cancelled: " + sample.FirstError
		return nil
	}
	last := began
	for row := f.first + done; row < f.first+f.count; row++ {
		told, err := f.told(ctx, row)
		if err != nil {
			return err
		}
		if told.After(last) {
			last = told
		}
	}
	r.Numbers = append(r.Numbers,
		compare.Number{Name: "events of as many cancellations at once", Value: float64(left)},
		compare.Number{Name: "from the last cancellation to the last event", Value: last.Sub(began.Add(sample.Elapsed)).Seconds(), Unit: "s"})
	return nil
}

// told returns when a subscriber saw the cancellation.
func (f *followed) told(ctx context.Context, row int64) (time.Time, error) {
	select {
	case at := <-f.streams.Cancelled(row):
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(eventPatience):
		return time.Time{}, fmt.Errorf("the subscriber of row %d is not told that its job is cancelled", row)
	}
}
