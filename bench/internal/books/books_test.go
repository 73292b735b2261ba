package books

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// books are those of a run that balances. Each case below changes one thing.
type books struct {
	Database
	told       map[uuid.UUID]Acknowledged
	unanswered int
}

var root, replay, again, active, untold = uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}, uuid.UUID{4}, uuid.UUID{5}

func balanced() *books {
	return &books{
		Database: Database{Effects: 3, Ledger: 1, Jobs: []Row{
			{ID: root, Status: Cancelled, Records: 3},
			{ID: replay, Status: Failed, Records: 3, Source: &root, Root: &root, Generation: 1},
			{ID: again, Status: Succeeded, Records: 3, Source: &replay, Root: &root, Generation: 2, Effects: 3, Ledger: 1},
			{ID: active, Status: Running, Records: 1},
			{ID: untold, Status: Pending, Records: 1},
		}},
		told: map[uuid.UUID]Acknowledged{
			root:   {Records: 3, Ended: Cancelled},
			replay: {Records: 3, Source: root},
			again:  {Records: 3, Source: replay, Ended: Succeeded},
			active: {Records: 1},
		},
		unanswered: 1,
	}
}

func (b *books) audit() []string { return Audit(b.Database, b.told, b.unanswered) }

func TestBooksOfAGoodRunBalance(t *testing.T) {
	t.Parallel()
	require.Empty(t, balanced().audit())
	require.Empty(t, Audit(Database{}, nil, 0))
}

func TestEachWrongRowIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*books)
		fault string
	}{
		"a lost job":                     {func(b *books) { b.Jobs = b.Jobs[:3]; b.unanswered = 0 }, "acknowledged and is lost"},
		"a job of nobody":                {func(b *books) { b.unanswered = 0 }, "1 jobs that nobody was told of"},
		"success without effects":        {func(b *books) { b.Jobs[2].Effects, b.Effects = 0, 0 }, "SUCCEEDED with 0 of 3 effects"},
		"effects twice":                  {func(b *books) { b.Jobs[2].Effects, b.Effects = 6, 6 }, "SUCCEEDED with 6 of 3 effects"},
		"success without a ledger row":   {func(b *books) { b.Jobs[2].Ledger, b.Ledger = 0, 0 }, "3 of 3 effects and 0 ledger rows"},
		"effects of a cancelled job":     {func(b *books) { b.Jobs[0].Effects, b.Effects = 1, 4 }, "CANCELLED with 1 of 3 effects"},
		"effects of a running job":       {func(b *books) { b.Jobs[3].Effects, b.Effects = 1, 4 }, "RUNNING with 1 of 1 effects"},
		"a ledger row of a failed job":   {func(b *books) { b.Jobs[1].Ledger, b.Ledger = 1, 2 }, "FAILED with 0 of 3 effects and 1 ledger"},
		"effects of no job":              {func(b *books) { b.Effects = 5 }, "2 effects and 0 ledger rows of no job"},
		"a ledger row of no job":         {func(b *books) { b.Ledger = 2 }, "0 effects and 1 ledger rows of no job"},
		"a cancellation that is undone":  {func(b *books) { b.Jobs[0].Status = Failed }, "said to be CANCELLED and is FAILED"},
		"an end that is undone":          {func(b *books) { b.Jobs[3].Status = Pending; b.told[active] = Acknowledged{Records: 1, Ended: Failed} }, "said to be FAILED and is PENDING"},
		"another batch":                  {func(b *books) { b.Jobs[3].Records = 2 }, "not the job that was acknowledged"},
		"a replay of another source":     {func(b *books) { b.told[replay] = Acknowledged{Records: 3, Source: active} }, "not the job that was acknowledged"},
		"a replay that lost its source":  {func(b *books) { b.Jobs[1] = Row{ID: replay, Status: Failed, Records: 3} }, "not the job that was acknowledged"},
		"a source that is not there":     {func(b *books) { b.Jobs[1].Source = &uuid.UUID{9} }, "from a job that is not there"},
		"a source that succeeded":        {func(b *books) { b.Jobs[2].Source, b.Jobs[1].Source = &root, &again }, "from a job that is SUCCEEDED"},
		"a generation that is left out":  {func(b *books) { b.Jobs[2].Generation = 3 }, "generation 3 after 1"},
		"a root of another lineage":      {func(b *books) { b.Jobs[2].Root = &replay }, "does not follow its source"},
		"a replay without a root":        {func(b *books) { b.Jobs[1].Root = nil }, "does not follow its source"},
		"a replay of another size":       {func(b *books) { b.Jobs[1].Records = 2 }, "does not follow its source"},
		"a generation without a source":  {func(b *books) { b.Jobs[3].Generation = 1 }, "a generation but no source"},
		"a root of a job without source": {func(b *books) { b.Jobs[3].Root = &root }, "a root or a generation but no source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balanced()
			c.spoil(b)
			faults := b.audit()
			require.NotEmpty(t, faults)
			require.Contains(t, strings.Join(faults, "\n"), c.fault)
		})
	}
}
