package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// chart is a flowchart of lines, up to what every chart ends with.
func chart(lines ...string) string {
	return "flowchart TD\n" + strings.Join(lines, "\n") + "\n" + mermaidClasses
}

func TestMermaidDrawsJobsEdgesAndTheJobAskedFor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, chart(
		`  j0["…00000000<br/>FAILED<br/>generation 0"]:::FAILED`,
		`  j1["…00000001<br/>CANCELLED<br/>generation 1"]:::CANCELLED`,
		`  j2["…00000002<br/>SUCCEEDED<br/>generation 1"]:::SUCCEEDED`,
		`  j3["…00000003<br/>PENDING<br/>generation 2"]:::PENDING`,
		`  j0 --> j1`,
		`  j0 --> j2`,
		`  j1 --> j3`,
	)+"  class j1 requested\n", NewLineage(testID(1), smallLineage()).Mermaid())
}

func TestMermaidColoursEveryStatus(t *testing.T) {
	t.Parallel()
	for _, s := range Statuses {
		assert.Contains(t, mermaidClasses, "  classDef "+string(s)+" ")
	}
}

func TestMermaidSaysHowMuchOfACutLineageIsMissing(t *testing.T) {
	t.Parallel()
	l := NewLineage(testID(3), smallLineage())
	l.Jobs, l.Truncated = l.Jobs[:1], true
	assert.Equal(t, chart(
		`  j0["…00000000<br/>FAILED<br/>generation 0"]:::FAILED`,
		`  j1["…00000001<br/>CANCELLED<br/>generation 1"]:::CANCELLED`,
		`  j2["…00000003<br/>PENDING<br/>generation 2"]:::PENDING`,
		`  j0 --> j1`,
		`  j1 --> j2`,
		`  more["1 more not drawn"]`,
	)+"  class j2 requested\n", l.Mermaid())
}
