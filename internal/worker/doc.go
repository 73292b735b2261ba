// Package worker runs jobs: it claims them under leases, lets the queue execute each one in a single transaction, and
// gives every failure its verdict.
//
// One claimer a process fills the free executors, with owners taking turns. An execution lives no longer than its lease, and
// stops early when a notice says that its owner cancelled the job. None of this decides anything: the [Queue] accepts a
// verdict only under the exact live lease, so a worker that is late, confused or dead changes nothing.
package worker
