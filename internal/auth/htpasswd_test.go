package auth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// A published test vector: the password is "a", the cost 6.
const vector = "$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"

func TestUsersFileTakesBcryptOfThreeLetters(t *testing.T) {
	t.Parallel()
	text := "# the team\n\nann:$2a" + vector + "\nbob:$2b" + vector + "\r\nzoë:$2y" + vector
	entries, err := parseEntries("users", text)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, name := range []string{"ann", "bob", "zoë"} {
		require.Equal(t, 6, entries[name].cost)
		require.NoError(t, bcrypt.CompareHashAndPassword(entries[name].hash, []byte("a")))
	}
}

func TestUsersFileErrorNamesTheLineAndNotItsContent(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no colon":               "secret",
		"no name":                ":$2y" + vector,
		"long name":              strings.Repeat("s", 256) + ":$2y" + vector,
		"control character":      "sec\x01ret:$2y" + vector,
		"C1 control character":   "sec\u0085ret:$2y" + vector,
		"not UTF-8":              "sec\xffret:$2y" + vector,
		"duplicate":              "ann:$2y" + vector,
		"plain text":             "secret:secret",
		"MD5":                    "secret:$apr1$ZjTqBB3f$IF9gdYAGlMrs2fuINjHsz.",
		"bcrypt of another make": "secret:$2x" + vector,
		"cost too low":           "secret:$2y$03" + vector[3:],
		"cost too high":          "secret:$2y$17" + vector[3:],
		"cost not a number":      "secret:$2y$xx" + vector[3:],
		"short hash":             "secret:$2y" + vector[:40],
		"long hash":              "secret:$2y" + vector + "x",
		"foreign letter":         "secret:$2y" + vector[:len(vector)-1] + "!",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseEntries("/etc/users", "# one\nann:$2y"+vector+"\n"+line+"\n")
			require.ErrorContains(t, err, "/etc/users:3: ")
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "m0CrhHm")
		})
	}
}
