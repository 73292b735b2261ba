// Package job is the core of Fencepost: what a job is, who may move it, and what is promised.
//
// # The story
//
// An owner submits a batch of records. It becomes a [Job], one execution episode that is never rewound. A worker
// claims it under a lease, loads the records in one transaction, and marks it succeeded in that same transaction,
// provided that its lease is still the live one. That condition is the fence: whatever took the lease away first, a
// cancellation or an expiry, makes the whole load roll back.
//
//	PENDING   -> RUNNING    a worker claims it: new lease, one attempt more
//	RUNNING   -> PENDING    the holder of the lease gives it back for a retry
//	RUNNING   -> RUNNING    the lease expired and another worker claimed it
//	RUNNING   -> SUCCEEDED  effects, ledger row and exact live lease, in one transaction
//	RUNNING   -> FAILED     the holder of the lease failed for good, or the attempts are used up
//	PENDING   -> FAILED     the attempts are used up
//	PENDING   -> CANCELLED  the owner cancels
//	RUNNING   -> CANCELLED  the owner cancels; the lease is gone, so the worker's success matches no row
//
// SUCCEEDED, FAILED and CANCELLED are terminal: such a row never changes again. To run failed or cancelled work once
// more the owner replays it, which makes a new job that names its source, the root of its lineage and its
// generation, and whose payload has provably the same bytes (the same SHA-256 digest).
//
// # Who decides
//
// The database does. [Service] validates, scopes everything to the [Owner], calls the [Store] and names the outcome as
// a [Problem] when it is a refusal. Every transition is one conditional SQL statement in the store, and its row count is
// the verdict; nothing that was read earlier decides anything.
package job
