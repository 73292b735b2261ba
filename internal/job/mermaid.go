package job

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// mermaidClasses colours each status, and frames the job that was asked for.
const mermaidClasses = `  classDef PENDING fill:#e8eaf6,stroke:#3949ab,color:#1a237e
  classDef RUNNING fill:#e1f5fe,stroke:#0277bd,color:#01579b
  classDef SUCCEEDED fill:#e8f5e9,stroke:#2e7d32,color:#1b5e20
  classDef FAILED fill:#ffebee,stroke:#c62828,color:#b71c1c
  classDef CANCELLED fill:#eceff1,stroke:#546e7a,color:#263238
  classDef requested stroke-width:4px
`

// Mermaid draws the lineage as a Mermaid flowchart to paste: a box for each job and an arrow from each source to what was
// derived from it. The job that was asked for has a thick frame. A cut lineage says how many jobs are not drawn.
func (l Lineage) Mermaid() string {
	var chart strings.Builder
	chart.WriteString("flowchart TD\n")
	names := map[uuid.UUID]string{}
	jobs := l.connected()
	for i, j := range jobs {
		names[j.ID] = fmt.Sprintf("j%d", i)
		fmt.Fprintf(&chart, "  %s[\"…%s<br/>%s<br/>generation %d\"]:::%s\n",
			names[j.ID], shortID(j.ID), j.Status, j.Generation(), j.Status)
	}
	for _, e := range Edges(jobs) {
		fmt.Fprintf(&chart, "  %s --> %s\n", names[e.Source], names[e.Derived])
	}
	if hidden := l.JobCount() - len(jobs); hidden > 0 {
		fmt.Fprintf(&chart, "  more[\"%d more not drawn\"]\n", hidden)
	}
	chart.WriteString(mermaidClasses)
	fmt.Fprintf(&chart, "  class %s requested\n", names[l.Job().ID])
	return chart.String()
}

// shortID is the end of an id: its beginning is a time, which the jobs of one lineage may share.
func shortID(id uuid.UUID) string { return id.String()[28:] }
