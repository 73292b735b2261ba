package operation

import (
	"context"
	"fmt"

	"fencepost/bench/internal/compare"
)

// Owners reads jobs and lists of the users, with ever more other owners in the same table.
type Owners struct{}

// Title implements Operation.
func (Owners) Title() string { return "owners" }

// Measure implements Operation.
func (o Owners) Measure(ctx context.Context, e *Env) (compare.Result, error) {
	result := compare.Measured(o.Title(), "")
	jobs := compare.Curve{Name: "Rate of job by id by owners", X: "owners", Y: "a second"}
	lists := compare.Curve{Name: "Rate of list of 50 jobs by owners", X: "owners", Y: "a second"}
	for _, n := range []int64{1, 10, 100, 1000, 10_000, 100_000} {
		db, err := e.Seed(ctx, fmt.Sprintf("owners_%d", n), e.Main, n)
		if err != nil {
			return result, err
		}
		read, err := once(ctx, e, restJob(db))
		if err != nil {
			return result, err
		}
		list, err := restList(ctx, db)
		if err != nil {
			return result, err
		}
		page, err := once(ctx, e, list)
		if err != nil {
			return result, err
		}
		jobs.Add(float64(n), read.Rate())
		lists.Add(float64(n), page.Rate())
	}
	result.Curves = append(result.Curves, jobs, lists)
	return result, nil
}
