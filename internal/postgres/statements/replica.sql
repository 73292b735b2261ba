-- How far a replica is.

-- name: position
-- How much of the primary's log is on disk. Every commit that was acknowledged lies before that.
SELECT pg_current_wal_flush_lsn()::text

-- name: caught up
-- Whether a replica has replayed the log up to a position. A server that is none has not.
SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= @position::pg_lsn
