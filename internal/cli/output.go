package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
)

// The forms of --output.
const (
	outputTable   = "table"
	outputJSON    = "json"
	outputID      = "id" // ids alone, one a line, for scripts
	outputMermaid = "mermaid"
	outputJSONLD  = "jsonld"
)

func (j *jobCommand) outputFlag(cmd *cobra.Command, forms ...string) {
	j.output = outputTable
	forms = append([]string{outputTable, outputJSON}, forms...)
	command.ChoiceFlag(cmd.Flags(), &j.output, "output", forms, "form of the result")
	completeFlag(cmd, "output", forms)
}

// table is a result of rows. The first column is the id of a job.
type table struct {
	header string
	rows   []string
	ids    []uuid.UUID
}

// show prints a result: the value as JSON, or else the table.
func (j *jobCommand) show(value any, t table) error {
	switch j.output {
	case outputJSON:
		return j.showJSON(value, "  ")
	case outputID:
		for _, id := range t.ids {
			fmt.Fprintln(j.Stdout, id)
		}
		return nil
	default:
		w := tabwriter.NewWriter(j.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "JOB\t"+t.header)
		for i, id := range t.ids {
			fmt.Fprintln(w, id.String()+"\t"+t.rows[i])
		}
		return w.Flush()
	}
}

func (j *jobCommand) showJSON(value any, indent string) error {
	encoder := json.NewEncoder(j.Stdout)
	encoder.SetIndent("", indent)
	return encoder.Encode(value)
}

func (t *table) add(id uuid.UUID, cells ...string) {
	t.ids = append(t.ids, id)
	t.rows = append(t.rows, strings.Join(cells, "\t"))
}

// showJobs prints jobs as rows; value is what they are in JSON.
func (j *jobCommand) showJobs(value any, jobs ...client.Job) error {
	t := table{header: "STATUS\tATTEMPTS\tRECORDS\tGENERATION\tCREATED\tREASON"}
	for _, job := range jobs {
		t.add(job.ID, string(job.Status), strconv.Itoa(job.AttemptCount), strconv.Itoa(job.RecordCount),
			strconv.Itoa(job.Generation), job.CreatedAt.Format(time.RFC3339), reason(job))
	}
	return j.show(value, t)
}

// reason is why a job ended without success: a word, and for an error of the database its SQLSTATE with the first record at fault.
func reason(job client.Job) string {
	text := cmp.Or(job.FailureCode, job.CancellationCode)
	if job.FailureSQLState != "" {
		text += " " + job.FailureSQLState
	}
	if job.FailureCondition != "" {
		text += " " + job.FailureCondition
	}
	if job.FailureRecordOrdinal > 0 {
		text += fmt.Sprintf(" record %d", job.FailureRecordOrdinal)
	}
	return text
}

// showAccepted prints a job that was just made.
func (j *jobCommand) showAccepted(accepted client.Accepted) error {
	j.noteReplayed(accepted.Replayed)
	t := table{header: "STATUS\tGENERATION"}
	t.add(accepted.ID, string(accepted.Status), strconv.Itoa(accepted.Generation))
	return j.show(accepted, t)
}

func (j *jobCommand) noteReplayed(replayed bool) {
	if replayed {
		fmt.Fprintln(j.Stderr, "This key had been used for it before; nothing was done twice.")
	}
}
