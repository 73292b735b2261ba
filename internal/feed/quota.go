package feed

import (
	"sync"

	"fencepost/internal/job"
)

// Limits bound what is open at one time.
type Limits struct {
	// PerOwner is the greatest number for one owner.
	PerOwner int
	// Total is the greatest number for all owners together.
	Total int
}

// Quota counts what is open, for each owner and for all. It is safe for concurrent use.
type Quota struct {
	limits Limits
	mu     sync.Mutex
	total  int
	owners map[job.Owner]int
}

// NewQuota makes a quota of which nothing is used.
func NewQuota(limits Limits) *Quota {
	return &Quota{limits: limits, owners: map[job.Owner]int{}}
}

// Take uses one for an owner. It reports false, and uses nothing, when a limit is reached.
func (q *Quota) Take(owner job.Owner) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.total >= q.limits.Total || q.owners[owner] >= q.limits.PerOwner {
		return false
	}
	q.total++
	q.owners[owner]++
	return true
}

// Taken is how many are used now, by all owners together.
func (q *Quota) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}

// Give returns what one [Quota.Take] used.
func (q *Quota) Give(owner job.Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	q.owners[owner]--
	if q.owners[owner] == 0 {
		delete(q.owners, owner)
	}
}
