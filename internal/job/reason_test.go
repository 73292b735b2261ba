package job_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestReasonsAreThatOfTheOwnerAndTheOperatorsInTheirOrder(t *testing.T) {
	t.Parallel()
	longest := "a" + strings.Repeat("_", 63)
	for text, listed := range map[string][]string{
		"":                              nil,
		"abc":                           {"abc"},
		"wrong_batch,superseded,a1_":    {"wrong_batch", "superseded", "a1_"},
		longest + ",etl_something_else": {longest, "etl_something_else"},
	} {
		reasons, err := job.ParseReasons(text)
		require.NoError(t, err, text)
		assert.Equal(t, append([]string{job.CancellationByOwner}, listed...), reasons.Codes(), text)
	}
	assert.Equal(t, []string{job.CancellationByOwner}, job.Reasons{}.Codes())
}

func TestReasonsAreCodesAndDiffer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"ab", "1abc", "_abc", "Wrong_batch", "wrong-batch", "wrong batch", "größe", "abc\n", "a" + strings.Repeat("b", 64),
		",", "abc,", ",abc", "abc,,def", "abc, def", "abc,abc", "abc,def,abc", job.CancellationByOwner,
	} {
		_, err := job.ParseReasons(text)
		require.ErrorContains(t, err, "must be different codes such as wrong_batch,superseded", text)
		assert.NotContains(t, err.Error(), "abc")
	}
}

func TestACancellationNeedsAKeyBeforeAReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.Cancel(t.Context(), f.owner, "no job", job.Key{}, "none")
	requireRefused(t, job.CodeCancellationKeyRequired, err)
}

func TestAReasonIsJudgedBeforeTheJobIsLookedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.Cancel(t.Context(), f.owner, "no job", key("k"), "none")
	require.Equal(t, &job.Problem{Code: job.CodeInvalidCancellationReason, Allowed: []string{job.CancellationByOwner}}, err)
}
