// Package books audits a database after a run: what the clients were told against the rows that are there. It shares no code
// with the service.
package books

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// The statuses of a job, as the database spells them.
const (
	Pending   = "PENDING"
	Running   = "RUNNING"
	Succeeded = "SUCCEEDED"
	Failed    = "FAILED"
	Cancelled = "CANCELLED"
)

// Row is one job in the database with what it left there.
type Row struct {
	ID     uuid.UUID
	Status string
	// Records is the number of records in the batch.
	Records int
	// Source and Root are nil on a job that is no replay, whose Generation is 0.
	Source, Root *uuid.UUID
	Generation   int
	// Effects and Ledger count the job's rows in the target and in the ledger.
	Effects, Ledger int
}

// Acknowledged is what the clients know for certain about one job, because an answer said so.
type Acknowledged struct {
	// Records is the size of the batch that was accepted.
	Records int
	// Source is the job that was replayed, or the nil UUID.
	Source uuid.UUID
	// Ended is the final status that an answer has shown, or "". An acknowledged cancellation shows CANCELLED.
	Ended string
}

// Database is everything that is there at the end.
type Database struct {
	Jobs []Row
	// Effects and Ledger count all rows of the target and of the ledger, also those of no job.
	Effects, Ledger int
}

// Audit lists every way in which the books do not balance, and nothing when they do. Each acknowledged job must be there as it
// was acknowledged. A job that nobody was told of may be there only for a call that never got its answer.
func Audit(d Database, acknowledged map[uuid.UUID]Acknowledged, unanswered int) []string {
	rows := make(map[uuid.UUID]Row, len(d.Jobs))
	var faults []string
	untold, effects, ledger := 0, 0, 0
	for _, row := range d.Jobs {
		rows[row.ID] = row
		effects, ledger = effects+row.Effects, ledger+row.Ledger
		if _, told := acknowledged[row.ID]; !told {
			untold++
		}
	}
	for _, row := range d.Jobs {
		faults = append(faults, row.effectFaults()...)
		faults = append(faults, row.lineageFaults(rows)...)
	}
	for id, a := range acknowledged {
		row, found := rows[id]
		if !found {
			faults = append(faults, fmt.Sprintf("%s was acknowledged and is lost", id))
			continue
		}
		faults = append(faults, row.promiseFaults(a)...)
	}
	if untold > unanswered {
		faults = append(faults, fmt.Sprintf("%d jobs that nobody was told of, with %d calls unanswered", untold, unanswered))
	}
	if effects != d.Effects || ledger != d.Ledger {
		faults = append(faults, fmt.Sprintf("%d effects and %d ledger rows of no job", d.Effects-effects, d.Ledger-ledger))
	}
	slices.Sort(faults)
	return faults
}

// effectFaults wants all effects and one ledger row of a job that succeeded, and none of any other.
func (r Row) effectFaults() []string {
	effects, ledger := 0, 0
	if r.Status == Succeeded {
		effects, ledger = r.Records, 1
	}
	if r.Effects == effects && r.Ledger == ledger {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s with %d of %d effects and %d ledger rows", r.ID, r.Status, r.Effects, r.Records, r.Ledger)}
}

// lineageFaults wants a replay one generation behind a source that failed or was cancelled, of the same root and size.
func (r Row) lineageFaults(rows map[uuid.UUID]Row) []string {
	if r.Source == nil {
		if r.Root == nil && r.Generation == 0 {
			return nil
		}
		return []string{fmt.Sprintf("%s has a root or a generation but no source", r.ID)}
	}
	source, found := rows[*r.Source]
	root := source.ID
	if source.Root != nil {
		root = *source.Root
	}
	switch {
	case !found:
		return []string{fmt.Sprintf("%s was replayed from a job that is not there", r.ID)}
	case source.Status != Failed && source.Status != Cancelled:
		return []string{fmt.Sprintf("%s was replayed from a job that is %s", r.ID, source.Status)}
	case r.Generation != source.Generation+1 || r.Root == nil || *r.Root != root || r.Records != source.Records:
		return []string{fmt.Sprintf("%s does not follow its source: generation %d after %d", r.ID, r.Generation, source.Generation)}
	default:
		return nil
	}
}

// promiseFaults compares a job with what was said about it.
func (r Row) promiseFaults(a Acknowledged) []string {
	var faults []string
	var source uuid.UUID
	if r.Source != nil {
		source = *r.Source
	}
	if r.Records != a.Records || source != a.Source {
		faults = append(faults, fmt.Sprintf("%s is not the job that was acknowledged", r.ID))
	}
	if a.Ended != "" && a.Ended != r.Status {
		faults = append(faults, fmt.Sprintf("%s was said to be %s and is %s", r.ID, a.Ended, r.Status))
	}
	return faults
}
