// Package model says in plain Go what Fencepost promises about jobs, and checks recorded histories against it.
//
// A [History] is what the clients and workers of one owner saw: each call, when it began and ended, and its answer. [Check]
// accepts it when there is an explanation that keeps every promise:
//
//   - each job moves only as the state machine allows, and ends at most once;
//   - each answer was true at some moment between its call and its return, and what was acknowledged stays (this is
//     linearizability, and what a job is before and after each call is told in job.go);
//   - one idempotency key stands for one identity, and gives the same job each time (key.go);
//   - effects and ledger row are there exactly when the job is SUCCEEDED (job.go, Inspect);
//   - lineage never changes, generations are consecutive, and a terminal job has one representation for ever (lineage.go).
//
// The checker knows nothing of SQL, and takes its notion of a job's life from no other package. Its tests drive the real
// service on PostgreSQL with random plans, from several goroutines and processes.
package model
