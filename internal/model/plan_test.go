package model_test

import (
	"pgregory.net/rapid"

	"fencepost/internal/model"
)

// A plan is what a random test decides beforehand. The order in which the actors' calls meet is up to the machine.
type plan struct {
	// Actors has the steps of each actor of this process, and Remote those of one in another process.
	Actors [][]planned
	Remote []planned
	// Cuts is how many connections of the owner are cut meanwhile. One call survives two cuts.
	Cuts int
}

// planned is one step of an actor.
type planned struct {
	Do model.Action
	// Name is a job: 0 and 1 are those of two submission keys, 2 and 3 those of two replay keys.
	Name int
	// Key is one of two keys of a replay or cancellation, and Bytes one of two payloads.
	Key, Bytes int
	// Reason is one of two of a cancellation.
	Reason int
	// Lease chooses one of the actor's leases, often one that is no longer live.
	Lease int
}

const (
	submissions = 2
	maxAttempts = 2
)

// actions has the frequent ones more than once, so that most histories hold work and quarrels about it.
var actions = []model.Action{
	model.Submit, model.Submit, model.Cancel, model.Cancel, model.Replay, model.Replay, model.Replay, model.Read,
	model.Claim, model.Claim, model.Execute, model.Execute, model.Execute, model.Retry, model.Retry,
	model.Fail, model.Fail, model.Fail, model.Inspect, model.Inspect, model.Expire, model.Expire,
}

var drawStep = rapid.Custom(func(t *rapid.T) planned {
	return planned{
		Do:     rapid.SampledFrom(actions).Draw(t, "do"),
		Name:   rapid.SampledFrom([]int{0, 0, 0, 1, 2, 2, 3}).Draw(t, "name"),
		Key:    rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "key"),
		Bytes:  rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "bytes"),
		Reason: rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "reason"),
		Lease:  rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "lease"),
	}
})

var drawPlan = rapid.Custom(func(t *rapid.T) plan {
	steps := rapid.SliceOfN(drawStep, 2, 12)
	return plan{
		Actors: rapid.SliceOfN(steps, 2, 4).Draw(t, "actors"),
		Remote: steps.Draw(t, "remote"),
		Cuts:   rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "cuts"),
	}
})
