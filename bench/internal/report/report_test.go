package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/report"
)

func TestNumbersWithoutGoalsHaveATableOfTheirOwn(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	result := compare.Measured("bloat", "", compare.AtLeast("last / first", 0.7, 0.9, 0.8))
	report.Report{Results: []compare.Result{result}}.Markdown(&text)
	require.Contains(t, text.String(), "| last / first | 0.70 | 0.90 | 0.80 | 0.80 to 0.80 | must |")
	require.NotContains(t, text.String(), "## Numbers")
	result.Numbers = []compare.Number{{Name: "p50", Value: 12.3, Unit: "ms"}, {Name: "left", Value: 2}}
	report.Report{Results: []compare.Result{result}}.Markdown(&text)
	require.Equal(t, 1, strings.Count(text.String(), "## Numbers"))
	require.Contains(t, text.String(), "| bloat | p50 | 12.3 ms |\n| bloat | left | 2.00 |\n")
}
