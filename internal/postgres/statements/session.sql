-- What a connection or a transaction is told, and what is asked of the server.

-- name: session
-- Run once on each connection. The statements decide races by reading a row again once it is free, which PostgreSQL does in this
-- isolation level only; in others, each conflict would be an error. And nothing is compiled: that takes half a second, and the
-- planner finds it worthwhile for lists of unresolved jobs, which are read in some milliseconds.
SET default_transaction_isolation = 'read committed'; SET jit = off

-- name: begin
begin

-- name: commit
commit

-- name: rollback
rollback

-- name: set
-- Gives a parameter of the server a value until the end of the transaction.
SELECT set_config(@setting, @value, true)
