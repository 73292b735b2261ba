// Package feed tells whoever watches a job or a lineage that it may have changed. One listener of the process hears the
// database's notices, and the [Hub] passes each one on to those that it concerns.
//
// A notice only ever causes a new read. So a lost one costs time and nothing else, several become one while a watcher is
// busy, and a watcher that reads slowly holds no more memory than one that reads fast.
package feed

import (
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// ErrFull means that the owner, or the process, follows as much as it may.
var ErrFull = errors.New("too many are followed")

// Config says how much may be followed, and how.
type Config struct {
	// Limits bound what is followed at one time.
	Limits Limits
	// Recheck is about how long a watcher goes without reading when it hears nothing, because notices can be lost; 0
	// means 10 seconds. Each wait is shortened at random by up to a half, so that the watchers spread.
	Recheck time.Duration
	// Pause is the shortest time between two reads of a watcher, so that what changes all the time costs a bounded number
	// of reads; 0 means 50 milliseconds.
	Pause time.Duration
}

func (c Config) withDefaults() Config {
	if c.Recheck == 0 {
		c.Recheck = 10 * time.Second
	}
	if c.Pause == 0 {
		c.Pause = 50 * time.Millisecond
	}
	return c
}

// Hub passes notices on. It has no goroutine of its own.
type Hub struct {
	config Config
	quota  *Quota

	mu       sync.Mutex
	watchers map[uuid.UUID]map[*watcher]struct{}
}

// New makes a hub that nobody follows anything on.
func New(config Config) *Hub {
	config = config.withDefaults()
	return &Hub{config: config, quota: NewQuota(config.Limits), watchers: map[uuid.UUID]map[*watcher]struct{}{}}
}

// watcher waits for news of one job, or of the lineage that begins with it.
type watcher struct {
	id uuid.UUID
	// news holds at most one token: there may be something to read.
	news chan struct{}
}

// Followed is how much is followed now.
func (h *Hub) Followed() int { return h.quota.Taken() }

// Notify takes a notice from the database, without waiting for anyone. The zero notice concerns all.
func (h *Hub) Notify(n worker.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n == (worker.Notice{}) {
		for id := range h.watchers {
			h.wake(id)
		}
		return
	}
	h.wake(n.JobID)
	if n.RootID != n.JobID {
		h.wake(n.RootID)
	}
}

func (h *Hub) wake(id uuid.UUID) {
	for w := range h.watchers[id] {
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

// join adds a watcher within the limits, or fails with [ErrFull].
func (h *Hub) join(owner job.Owner, id uuid.UUID) (*watcher, error) {
	if !h.quota.Take(owner) {
		return nil, ErrFull
	}
	w := &watcher{id: id, news: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[id] == nil {
		h.watchers[id] = map[*watcher]struct{}{}
	}
	h.watchers[id][w] = struct{}{}
	return w, nil
}

func (h *Hub) leave(owner job.Owner, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[w.id], w)
	if len(h.watchers[w.id]) == 0 {
		delete(h.watchers, w.id)
	}
	h.quota.Give(owner)
}
