package mediatype_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/mediatype"
)

func TestIsJSON(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"application/json", "Application/JSON", "application/json; charset=UTF-8", `application/json;charset="utf-8"`} {
		require.True(t, mediatype.IsJSON([]string{line}), line)
	}
	for _, line := range []string{"", "text/json", "application/json; charset=utf-16", "application/json; charset", "application/problem+json"} {
		require.False(t, mediatype.IsJSON([]string{line}), line)
	}
	require.False(t, mediatype.IsJSON(nil))
	require.False(t, mediatype.IsJSON([]string{"application/json", "application/json"}))
}

func TestTheMostExactRangeDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		accept string
		want   mediatype.Preference
	}{
		{"application/json", mediatype.Preference{Quality: 1, Exactness: mediatype.Exact}},
		{"application/*;q=0.5", mediatype.Preference{Quality: 0.5, Exactness: mediatype.AnySubtype}},
		{"*/*", mediatype.Preference{Quality: 1, Exactness: mediatype.Anything}},
		{"*/*, application/json;q=0", mediatype.Preference{Quality: 0, Exactness: mediatype.Exact}},
		{"application/json;q=0.1, application/json;q=0.2, application/json;q=0.1", mediatype.Preference{Quality: 0.2, Exactness: mediatype.Exact}},
		{"text/html, application/xml", mediatype.Preference{}},
		{`text/html;a="b,\",c", application/json`, mediatype.Preference{Quality: 1, Exactness: mediatype.Exact}},
	} {
		accept, wellFormed := mediatype.ParseAccept([]string{c.accept})
		require.True(t, wellFormed, c.accept)
		require.Equal(t, c.want, accept.For(mediatype.JSON), c.accept)
	}
}

func TestNoAcceptLineOrAnEmptyOneTakesEverything(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{nil, {""}, {" "}} {
		accept, wellFormed := mediatype.ParseAccept(lines)
		require.True(t, wellFormed)
		require.True(t, accept.Everything())
	}
}

func TestWhatIsMalformedIsPassedOverAndTold(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{",", "a/b/c", "application/json;q=2", "application/json;q=-1", "application/json;q=NaN", "application/json;q=x"} {
		read, wellFormed := mediatype.ParseAccept([]string{accept})
		require.False(t, wellFormed, accept)
		require.False(t, read.Everything(), accept)
		require.Zero(t, read.For(mediatype.JSON).Quality, accept)
	}
	read, wellFormed := mediatype.ParseAccept([]string{"a/b/c", "application/json"})
	require.False(t, wellFormed)
	require.InDelta(t, 1.0, read.For(mediatype.JSON).Quality, 0)
}

func TestPlainRangesAskForNothingButUTF8(t *testing.T) {
	t.Parallel()
	accept, _ := mediatype.ParseAccept([]string{"application/json; charset=UTF-8", "text/html; charset=latin1", "text/plain; version=1; q=0.5"})
	require.NotZero(t, accept.Plain().For(mediatype.JSON))
	for _, name := range []string{"text/html", "text/plain"} {
		require.NotZero(t, accept.For(name))
		require.Zero(t, accept.Plain().For(name))
	}
}
