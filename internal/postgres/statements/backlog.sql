-- What there is to do for all workers together.

-- name: backlog
-- Looks at no more than the two partial indexes that workers claim by, whose order it asks for so that no plan reads the table
-- instead. Each count stops at the limit.
SELECT
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE job_status = 'PENDING' ORDER BY next_attempt_at LIMIT @limit) AS pending),
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE lease_owner_id IS NOT NULL ORDER BY lease_expires_at LIMIT @limit) AS running),
	(SELECT count(*) FROM (
		SELECT FROM etl_job_records WHERE lease_owner_id IS NOT NULL AND lease_expires_at <= now()
		ORDER BY lease_expires_at LIMIT @limit) AS expired),
	-- GREATEST passes over the null that there is without pending jobs.
	greatest(now() - (SELECT min(next_attempt_at) FROM etl_job_records WHERE job_status = 'PENDING'), interval '0')
