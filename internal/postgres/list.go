package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
)

var (
	listSQL          = statements.Named("list")
	listFilteredSQL  = statements.Named("list filtered")
	listPartsSQL     = statements.Named("list parts")
	countByStatusSQL = statements.Named("count by status")
)

// parts are the parts of an owner's jobs in which some may pass the filter, each once.
func parts(f job.Filter) (statuses []job.Status, replay []bool) {
	onlyUnresolved := f.Unresolved != nil && *f.Unresolved
	for _, s := range job.Statuses {
		asked := len(f.Statuses) == 0 || slices.Contains(f.Statuses, s)
		derivable := s == job.StatusFailed || s == job.StatusCancelled
		if asked && (derivable || !onlyUnresolved) {
			statuses = append(statuses, s)
		}
	}
	if f.Replay != nil {
		return statuses, []bool{*f.Replay}
	}
	return statuses, []bool{false, true}
}

func filterArgs(owner job.Owner, f job.Filter) statements.Args {
	return statements.Args{
		"owner": owner[:], "created_after": f.CreatedAfter, "created_before": f.CreatedBefore, "unresolved": f.Unresolved,
	}
}

// List implements job.Store.
func (r Reader) List(ctx context.Context, owner job.Owner, f job.Filter, p job.Page) ([]job.Job, error) {
	before := p.After.ID
	if before == uuid.Nil {
		before = uuid.Max
	}
	statuses, replay := parts(f)
	everyPart := len(statuses) == len(job.Statuses) && len(replay) == 2
	if everyPart && f.Unresolved == nil && f.CreatedAfter == nil && f.CreatedBefore == nil {
		return query(ctx, r, "list", jobRows(), listSQL, statements.Args{"owner": owner[:], "before": before, "limit": p.Limit})
	}
	args := filterArgs(owner, f)
	args["before"], args["limit"] = before, p.Limit
	if everyPart {
		return query(ctx, r, "list", jobRows(), listFilteredSQL, args)
	}
	args["statuses"], args["replay"] = statuses, replay
	return query(ctx, r, "list", jobRows(), listPartsSQL, args)
}

// CountByStatus implements job.Store. It is planned anew each time: a plan for any filter can't leave out what this one does
// not ask for.
func (r Reader) CountByStatus(ctx context.Context, owner job.Owner, f job.Filter) (map[job.Status]job.Count, error) {
	type count struct {
		Status job.Status
		Jobs   int
	}
	args := filterArgs(owner, f)
	args["statuses"], _ = parts(f)
	args["replay"], args["limit"] = f.Replay, job.MaxCount+1
	var rows []count
	err := r.db.Query(ctx, "count by status", db.Set("plan_cache_mode", "force_custom_plan"),
		db.Rows(countByStatusSQL, args, &rows, pgx.RowToStructByPos[count]))
	counts := make(map[job.Status]job.Count, len(rows))
	for _, r := range rows {
		counts[r.Status] = job.Count{Jobs: min(r.Jobs, job.MaxCount), AtLeast: r.Jobs > job.MaxCount}
	}
	return counts, err
}
