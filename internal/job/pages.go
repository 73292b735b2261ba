package job

import (
	"context"
	"slices"

	"github.com/google/uuid"
)

// DefaultPageSize is the number of jobs on a page when the client does not say.
const DefaultPageSize = 50

// PageRequest is what a client asks of a list.
type PageRequest struct {
	// Limit is from 1 to [MaxPageSize].
	Limit int
	// Cursor is that of the last job already seen, or empty for the first page.
	Cursor string
}

func (r PageRequest) checkLimit() error {
	if r.Limit < 1 || r.Limit > MaxPageSize {
		return Refuse(CodeInvalidPageRequest)
	}
	return nil
}

// JobPage is one page of a list.
type JobPage struct {
	// Jobs is the page, at most as long as the limit.
	Jobs []Job
	// More reports that there are further jobs behind the page.
	More bool
	// scope binds the page's cursors to its list.
	scope cursorScope
}

// Cursor is the opaque place of one of the page's jobs; the next page comes after it.
func (p JobPage) Cursor(j Job) string {
	return p.scope.encode(j.position())
}

// Next is the cursor of the page's last job when there is more, and empty otherwise.
func (p JobPage) Next() string {
	if !p.More {
		return ""
	}
	return p.Cursor(p.Jobs[len(p.Jobs)-1])
}

// newJobPage takes one job more than the limit as the sign that there is another page.
func newJobPage(scope cursorScope, jobs []Job, limit int) JobPage {
	more := len(jobs) > limit
	return JobPage{Jobs: jobs[:min(limit, len(jobs))], More: more, scope: scope}
}

// page validates a request and asks for one job more than its limit.
func (scope cursorScope) page(r PageRequest) (Page, error) {
	if err := r.checkLimit(); err != nil {
		return Page{}, err
	}
	after, err := scope.decode(r.Cursor)
	return Page{Limit: r.Limit + 1, After: after}, err
}

// List returns a page of the owner's jobs, newest first. A bad limit, cursor or filter is [CodeInvalidPageRequest].
func (s *Service) List(ctx context.Context, owner Owner, f Filter, r PageRequest) (JobPage, error) {
	if slices.ContainsFunc(f.Statuses, func(s Status) bool { return !s.Valid() }) {
		return JobPage{}, Refuse(CodeInvalidPageRequest)
	}
	scope := jobsScope(f)
	page, err := scope.page(r)
	if err != nil {
		return JobPage{}, err
	}
	jobs, err := s.store.List(ctx, owner, f, page)
	if err != nil {
		return JobPage{}, refusal(reading, err)
	}
	return newJobPage(scope, jobs, r.Limit), nil
}

// Replays returns, for each source, a page of the jobs made directly from it in the order of their creation. A cursor
// belongs to one source, so it can only be used with a single one.
func (s *Service) Replays(ctx context.Context, owner Owner, sources []uuid.UUID, r PageRequest) (map[uuid.UUID]JobPage, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	page, err := replaysScope(sources[0]).page(r)
	if err != nil {
		return nil, err
	}
	jobs, err := s.store.Replays(ctx, owner, sources, page)
	if err != nil {
		return nil, refusal(reading, err)
	}
	pages := make(map[uuid.UUID]JobPage, len(sources))
	for _, source := range sources {
		pages[source] = newJobPage(replaysScope(source), jobs[source], r.Limit)
	}
	return pages, nil
}

// MaxLineageJobs is the greatest number of jobs that a lineage is loaded with as one value.
const MaxLineageJobs = 5000

// Lineage returns the lineage of one job of the owner, or [CodeJobNotFound].
func (s *Service) Lineage(ctx context.Context, owner Owner, id string) (Lineage, error) {
	jobID := parseID(id)
	lineages, err := s.Lineages(ctx, owner, []uuid.UUID{jobID})
	if err != nil {
		return Lineage{}, err
	}
	lineage, found := lineages[jobID]
	if !found {
		return Lineage{}, Refuse(CodeJobNotFound)
	}
	return lineage, nil
}

// Lineages returns the lineages of those of the jobs that the owner has, in a bounded number of statements.
func (s *Service) Lineages(ctx context.Context, owner Owner, ids []uuid.UUID) (map[uuid.UUID]Lineage, error) {
	lineages, err := s.store.Lineages(ctx, owner, ids, MaxLineageJobs)
	return lineages, refusal(reading, err)
}

// LineagePage is one page of a job's lineage: by generation, and then by creation.
type LineagePage struct {
	LineageSummary
	JobPage
}

// LineagePage returns one page of a job's lineage, or [CodeJobNotFound].
func (s *Service) LineagePage(ctx context.Context, owner Owner, id string, r PageRequest) (LineagePage, error) {
	jobID := parseID(id)
	scope := lineageScope(jobID)
	page, err := scope.page(r)
	if err != nil {
		return LineagePage{}, err
	}
	summary, jobs, err := s.store.LineagePage(ctx, owner, jobID, page)
	if err != nil {
		return LineagePage{}, refusal(reading, err)
	}
	return LineagePage{LineageSummary: summary, JobPage: newJobPage(scope, jobs, r.Limit)}, nil
}

// PageLineage returns a page of an already loaded lineage, in the order of [Lineage.Jobs].
func PageLineage(l Lineage, r PageRequest) (JobPage, error) {
	scope := lineageScope(l.Job().ID)
	page, err := scope.page(r)
	if err != nil {
		return JobPage{}, err
	}
	i, found := slices.BinarySearchFunc(l.Jobs, page.After, func(j Job, p Position) int { return j.position().compare(p) })
	if found {
		i++
	}
	return newJobPage(scope, l.Jobs[i:], r.Limit), nil
}
