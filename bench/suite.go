package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"fencepost/bench/internal/cluster"
	"fencepost/bench/internal/operation"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/report"
	"fencepost/bench/internal/seed"
)

// allOperations are measured in this order.
var allOperations = []operation.Operation{
	operation.JobByID{},
	operation.Lineage{},
	operation.List{},
	operation.Cancel{},
	operation.Submit{},
	operation.JobGrowth,
	operation.LineageGrowth,
	operation.ListGrowth,
	operation.WorkerRate{},
	operation.CancelRunning{},
	operation.StartLatency{},
	operation.Memory{},
}

// curves are measured as well when the profile asks for plots.
var curves = []operation.Operation{
	operation.Buffers{},
	operation.CancelGrowth,
	operation.SubmitGrowth,
	operation.ExecutionGrowth,
	operation.Shapes{},
	operation.Owners{},
	operation.Payloads{},
	operation.Scale{},
}

// traced are measured when the profile asks for the cost of traces.
var traced = []operation.Operation{
	operation.TracedJob,
	operation.TracedCancel,
	operation.TracedSubmit,
	operation.TracedWorker,
}

// cliffs are measured when the profile has extremes.
var cliffs = []operation.Operation{
	operation.LargeOwner{},
	operation.Backlog{},
	operation.ExpiredLeases{},
	operation.Fairness{},
	operation.Subscriptions{},
	operation.Bloat{},
}

// suite is a run: the server, the product, and where they keep their files.
type suite struct {
	env       *operation.Env
	directory string
}

func openSuite(ctx context.Context, profile operation.Profile, o options) (*suite, error) {
	directory, err := os.MkdirTemp("", "fencepost-bench-")
	if err != nil {
		return nil, err
	}
	s := &suite{directory: directory, env: &operation.Env{Profile: profile, Options: operation.Options{
		ServeFlags: strings.Fields(o.serveFlags), WorkFlags: strings.Fields(o.workFlags), Peers: !o.noPeers,
	}}}
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare builds the product and starts an empty server.
func (s *suite) prepare(ctx context.Context, o options) (err error) {
	if s.env.Fencepost, err = process.BuildFencepost(ctx, s.directory); err != nil {
		return err
	}
	if err = s.env.Fencepost.AddUsers(ctx, seed.UserNames()...); err != nil {
		return err
	}
	if o.against != "" {
		old := *s.env.Fencepost
		if old.Binary, err = exec.LookPath(o.against); err != nil {
			return err
		}
		s.env.Old = &old
	}
	s.env.Cluster, err = cluster.Start(ctx, o.dataDir, o.postgresBin)
	return err
}

// measure runs the operations whose titles hold one of some texts, which commas separate. What was measured before an error is in the report.
func (s *suite) measure(ctx context.Context, only string) (report.Report, error) {
	r := report.Report{Began: time.Now()}
	version, err := s.env.Cluster.Version(ctx)
	r.Machine = report.ThisMachine(ctx, version)
	for _, o := range s.operations() {
		if err != nil || !wanted(o, only) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%s …", o.Title())
		result, failure := o.Measure(ctx, s.env)
		fmt.Fprintf(os.Stderr, " %s\n", time.Since(began).Round(time.Second))
		r.Results, err = append(r.Results, result), failure
	}
	r.Took = time.Since(r.Began).Round(time.Second).String()
	return r, err
}

func wanted(o operation.Operation, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(text string) bool { return strings.Contains(o.Title(), text) })
}

func (s *suite) operations() []operation.Operation {
	var all []operation.Operation
	if len(s.env.Sizes) > 0 {
		all = allOperations
	}
	if s.env.Traced {
		all = slices.Concat(all, traced)
	}
	if s.env.Plots {
		all = slices.Concat(all, curves)
	}
	if s.env.Cliffs != (operation.Cliffs{}) {
		all = slices.Concat(all, cliffs)
	}
	return all
}

func (s *suite) close() error {
	err := s.env.Close()
	if s.env.Cluster != nil {
		err = errors.Join(err, s.env.Cluster.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.directory))
}
