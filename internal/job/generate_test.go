package job_test

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// validBatch generates batches that keep every rule, spelled in any way that JSON allows.
func validBatch() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return array(t, rapid.SliceOfN(record(), 0, 3).Draw(t, "records"))
	})
}

func record() *rapid.Generator[string] {
	visible := rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P, unicode.S)
	return rapid.Custom(func(t *rapid.T) string {
		id := rapid.StringOfN(visible, 1, 256, -1).Draw(t, "id")
		members := append(members(t, 3), space(t)+quote(t, "id")+space(t)+":"+space(t)+quote(t, id)+space(t))
		return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
	})
}

// value generates any JSON value of at most as many levels.
func value(levels int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 4
		if levels == 0 {
			kinds = 2
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case 1:
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[1-8]?[0-9]{1,2})?`).Draw(t, "number")
		case 2:
			return quote(t, text().Draw(t, "text"))
		case 3:
			return array(t, rapid.SliceOfN(value(levels-1), 0, 3).Draw(t, "elements"))
		default:
			return "{" + strings.Join(members(t, levels-1), ",") + "}"
		}
	})
}

func array(t *rapid.T, elements []string) string {
	for i, e := range elements {
		elements[i] = space(t) + e + space(t)
	}
	return space(t) + "[" + strings.Join(elements, ",") + space(t) + "]" + space(t)
}

// members generates members with names of their own, none of them "id".
func members(t *rapid.T, levels int) []string {
	names := rapid.SliceOfNDistinct(text().Filter(func(s string) bool { return s != "id" }), 0, 3, rapid.ID).Draw(t, "names")
	for i, name := range names {
		names[i] = space(t) + quote(t, name) + space(t) + ":" + space(t) + value(levels).Draw(t, "value") + space(t)
	}
	return names
}

// text generates what jsonb holds: everything but NUL.
func text() *rapid.Generator[string] {
	return rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 && !utf16.IsSurrogate(r) }))
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t\r"}).Draw(t, "space")
}

// quote spells each character of a string plainly or as an escape.
func quote(t *rapid.T, s string) string {
	var quoted strings.Builder
	for _, r := range s {
		plain := r >= ' ' && r != '"' && r != '\\'
		if plain && rapid.Bool().Draw(t, "plain") {
			quoted.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&quoted, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "escape"), unit)
		}
	}
	return `"` + quoted.String() + `"`
}
