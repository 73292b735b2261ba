package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
)

// operation is one event as one object saw it.
type operation[S any] struct {
	event Event
	step  step[S]
}

// Check returns an error that tells which promise a history broke, and nil when it broke none. The history must end with a
// [Read] of every job.
func Check(h History) error {
	jobs := map[uuid.UUID][]operation[jobState]{}
	keys := map[string][]operation[keyState]{}
	for _, e := range h.Events {
		for id, step := range h.jobSteps(e) {
			jobs[id] = append(jobs[id], operation[jobState]{e, step})
		}
		if e.Do == Submit || e.Do == Replay {
			keys[e.keyName()] = append(keys[e.keyName()], operation[keyState]{e, e.useKey})
		}
	}
	delete(jobs, uuid.Nil) // a claim that leased nothing
	for _, e := range h.Events {
		for id := range jobs {
			if e.Answer.Exhausted > 0 {
				jobs[id] = append(jobs[id], operation[jobState]{e, h.exhaust})
			}
		}
	}
	return errors.Join(explain("job", jobs), explain("key", keys), h.checkRepresentations(), h.checkExhaustion())
}

// explain demands for each object an order of its operations that agrees with their times, in which every answer is possible.
func explain[ID comparable, S comparable](kind string, objects map[ID][]operation[S]) error {
	for id, operations := range objects {
		history := make([]porcupine.Operation, 0, len(operations))
		for _, o := range operations {
			history = append(history, porcupine.Operation{Input: o.step, Call: o.event.Call, Return: o.event.Return})
		}
		if !porcupine.CheckOperations(objectModel[S](), history) {
			return fmt.Errorf("%s %v has no explanation:\n%s", kind, id, transcript(operations))
		}
	}
	return nil
}

// objectModel is an object that begins with the zero state; each operation brings its own step.
func objectModel[S comparable]() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{*new(S)} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range input.(step[S])(state.(S)) {
				next = append(next, s)
			}
			return next
		},
	}
	return nondeterministic.ToModel()
}

// transcript lists operations by the time of their calls.
func transcript[S any](operations []operation[S]) string {
	slices.SortFunc(operations, func(a, b operation[S]) int { return int(a.event.Call - b.event.Call) })
	var lines strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&lines, "  %+v", o.event)
		if j := o.event.Answer.Job; j != nil {
			fmt.Fprintf(&lines, " showing %+v", *j)
		}
		lines.WriteString("\n")
	}
	return lines.String()
}
