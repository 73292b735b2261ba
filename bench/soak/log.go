package main

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/uuid"

	"fencepost/bench/internal/books"
	"fencepost/bench/internal/load"
	"fencepost/client"
)

// log is what all clients together were told, and how long each call took with all of its retries.
type log struct {
	mu         sync.Mutex
	told       map[uuid.UUID]books.Acknowledged
	times      map[string]*hdrhistogram.Histogram
	refusals   map[string]int
	retries    int
	cut        int
	unanswered int
	broken     []string
	faults     map[string]int
}

func newLog() *log {
	return &log{
		told: map[uuid.UUID]books.Acknowledged{}, times: map[string]*hdrhistogram.Histogram{},
		refusals: map[string]int{}, faults: map[string]int{},
	}
}

// accepted notes a submission or replay that was acknowledged.
func (l *log) accepted(id, source uuid.UUID, records int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	earlier, known := l.told[id]
	if known && (earlier.Records != records || earlier.Source != source) {
		l.broken = append(l.broken, fmt.Sprintf("%s stands for two submissions", id))
	}
	earlier.Records, earlier.Source = records, source
	l.told[id] = earlier
}

// saw notes what an answer has shown of a job. Two different ends, or a job that is active after its end, must not be.
func (l *log) saw(id uuid.UUID, status client.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, known := l.told[id]
	switch {
	case !known:
		return // its own acknowledgement is still on the way to another client
	case a.Ended == "" && status.Terminal():
		a.Ended = string(status)
		l.told[id] = a
	case status.Terminal() && a.Ended != string(status):
		l.broken = append(l.broken, fmt.Sprintf("%s was %s and then %s", id, a.Ended, status))
	}
}

// broke notes an answer that must not be.
func (l *log) broke(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, what)
}

// took notes the duration of a call, and whether it ended with an answer.
func (l *log) took(action string, d time.Duration, refusal string, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.times[action] == nil {
		l.times[action] = load.NewHistogram()
	}
	_ = l.times[action].RecordValue(min(d, time.Minute).Microseconds()) // in range
	if refusal != "" {
		l.refusals[refusal]++
	}
	if !answered {
		l.unanswered++
	}
}

func (l *log) retried() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries++
}

func (l *log) wasCut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut++
}

// acknowledged is what was told of each job so far.
func (l *log) acknowledged() map[uuid.UUID]books.Acknowledged {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.told)
}
