package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"fencepost/client"
	"fencepost/internal/command"
	"fencepost/internal/job"
)

func (j *jobCommand) lineageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lineage JOB",
		Short: "Draw where a job comes from and what became of it",
		Long: `Draw the first job and every replay that comes from it as a tree, or print it as JSON, as a Mermaid flowchart, or
as W3C PROV-O in JSON-LD.`,
		Example: `  fencepost job lineage 0199c2f0-6a00-7000-8000-000000000001
  fencepost job lineage 0199c2f0-6a00-7000-8000-000000000001 --output mermaid >lineage.mmd`,
		Args: command.NamedArgs,
		RunE: j.withJob(func(ctx context.Context, c *client.Client, id uuid.UUID, _ []string) error {
			if j.output == outputJSONLD {
				return j.showProvenance(ctx, c, id)
			}
			l, err := c.Lineage(ctx, id)
			if err != nil {
				return err
			}
			return j.showLineage(l)
		}),
		ValidArgsFunction: j.completeJob(),
	}
	j.outputFlag(cmd, outputMermaid, outputJSONLD)
	return cmd
}

func (j *jobCommand) showProvenance(ctx context.Context, c *client.Client, id uuid.UUID) error {
	document, err := c.Provenance(ctx, id)
	if err != nil {
		return err
	}
	return j.showJSON(document, "  ")
}

func (j *jobCommand) showLineage(l client.Lineage) (err error) {
	switch j.output {
	case outputJSON:
		return j.showJSON(l, "  ")
	case outputMermaid:
		_, err = fmt.Fprint(j.Stdout, mermaid(l))
	default:
		_, err = fmt.Fprint(j.Stdout, tree(l))
	}
	return err
}

// tree draws a lineage for the terminal, each replay below its source. An arrow marks the job that was asked for.
func tree(l client.Lineage) string {
	derived := map[uuid.UUID][]client.Job{}
	for _, found := range l.Jobs {
		derived[found.SourceID] = append(derived[found.SourceID], found)
	}
	var drawing strings.Builder
	var draw func(source uuid.UUID, indent string)
	draw = func(source uuid.UUID, indent string) {
		for i, found := range derived[source] {
			branch, below := "├─ ", "│  "
			if i == len(derived[source])-1 {
				branch, below = "└─ ", "   "
			}
			fmt.Fprintln(&drawing, indent+branch+label(found, l.JobID))
			draw(found.ID, indent+below)
		}
	}
	for _, root := range derived[uuid.Nil] {
		fmt.Fprintln(&drawing, label(root, l.JobID))
		draw(root.ID, "")
	}
	return drawing.String()
}

func label(found client.Job, asked uuid.UUID) string {
	words := []string{found.ID.String(), string(found.Status)}
	if why := reason(found); why != "" {
		words = append(words, why)
	}
	if found.ID == asked {
		words = append(words, "<-")
	}
	return strings.Join(words, " ")
}

// mermaid draws a lineage with the hand of the core, which only looks at what is set here.
func mermaid(l client.Lineage) string {
	jobs := make([]job.Job, len(l.Jobs))
	for i, found := range l.Jobs {
		jobs[i] = job.Job{ID: found.ID, Status: found.Status}
		if found.Generation > 0 {
			jobs[i].Derivation = &job.Derivation{SourceID: found.SourceID, RootID: found.RootID, Generation: found.Generation}
		}
	}
	return job.NewLineage(l.JobID, jobs).Mermaid()
}
