-- The hints that a job's status changed.

-- name: notify
SELECT pg_notify(@channel, @lines)
