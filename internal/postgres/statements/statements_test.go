package statements_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"fencepost/internal/postgres/statements"
)

func TestEveryStatementIsFoundByItsNameAndByItsText(t *testing.T) {
	t.Parallel()
	all := statements.All()
	require.NotEmpty(t, all)
	for i, s := range all {
		require.Equal(t, s, statements.Named(s.Name))
		require.Equal(t, s.Name, statements.NameOf(s.SQL))
		require.Regexp(t, `^[a-z ]+$`, s.Name)
		require.True(t, i == 0 || all[i-1].Name < s.Name, "in the order of names, each once")
	}
}

func TestTextThatIsNotOursIsAnOperatorsLoad(t *testing.T) {
	t.Parallel()
	require.Equal(t, "load", statements.NameOf("INSERT INTO target SELECT 1"))
	require.Equal(t, "load", statements.NameOf(statements.Named("load").SQL))
}

func TestParametersAreNumberedInTheOrderInWhichTheyFirstCome(t *testing.T) {
	t.Parallel()
	notify := statements.Named("notify")
	require.Equal(t, statements.Statement{
		Name: "notify", SQL: "SELECT pg_notify($1, $2)", Params: []string{"channel", "lines"},
	}, notify)
	require.Equal(t, []any{"a", "b"}, notify.Positional(statements.Args{"lines": "b", "channel": "a"}))
	require.Empty(t, statements.Named("begin").Positional(nil))

	place := regexp.MustCompile(`\$\d+`)
	for _, s := range statements.All() {
		require.NotContains(t, s.SQL, "@", s.Name)
		distinct := map[string]bool{}
		for _, found := range place.FindAllString(s.SQL, -1) {
			distinct[found] = true
		}
		require.Len(t, distinct, len(s.Params), s.Name)
	}
	require.Equal(t, []string{"owner", "id", "claim_id"}, statements.Named("succeed").Params, "each once, however often it comes")
}

func TestMistakesInTheProgramPanic(t *testing.T) {
	t.Parallel()
	notify := statements.Named("notify")
	require.PanicsWithValue(t, `there is no statement "none"`, func() { statements.Named("none") })
	require.PanicsWithValue(t, `statement "notify" needs @lines`, func() {
		notify.Positional(statements.Args{"channel": "a"})
	})
	require.PanicsWithValue(t, `statement "notify" takes no more than [channel lines]`, func() {
		notify.Positional(statements.Args{"channel": "a", "lines": "b", "more": "c"})
	})
}

func TestMistakesInTheFilesPanic(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"-- name: a\n{{template \"none\"}}":                "none",
		"-- name: a\n{{":                                   "unclosed action",
		"--\n\n-- name: a\nSELECT 1\n-- name: a\nSELECT 2": `two statements "a"`,
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), message) }()
			statements.Read(fstest.MapFS{"file.sql": {Data: []byte(text)}})
		}()
	}
}

func TestCommentsAndTemplatesAreNotSent(t *testing.T) {
	t.Parallel()
	for _, s := range statements.All() {
		for _, mark := range []string{"--", "{{", "}}", "<no value>"} {
			require.NotContains(t, s.SQL, mark, s.Name)
		}
		require.Equal(t, strings.TrimSpace(s.SQL), s.SQL)
	}
}

func TestTheTwoCancellationsDifferInWhatTheyDoAboutAHeldRowAlone(t *testing.T) {
	t.Parallel()
	cancel, waiting := statements.Named("cancel"), statements.Named("cancel waiting")
	require.Equal(t, cancel.Params, waiting.Params)
	require.NotEqual(t, cancel.SQL, waiting.SQL)
	require.Equal(t, strings.Replace(cancel.SQL, " SKIP LOCKED", "", 1), waiting.SQL)
}
