package auth

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A users file that is accepted says the same when its entries are written anew, and an error tells nothing that the file says.
func FuzzUsersFile(f *testing.F) {
	const hash = "$2y$10$abcdefghijklmnopqrstuuFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for _, text := range []string{"", "# x\n\n", "ann:" + hash, "ann:" + hash + "\r\nbob:" + hash, "ann:" + hash + "\nann:" + hash, "ann", ":" + hash, "ann:$2y$99$x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parseEntries("path", text)
		if err != nil {
			require.True(t, slices.ContainsFunc([]error{errNoColon, ErrInvalidName, errDuplicateName, errInvalidHash},
				func(known error) bool { return errors.Is(err, known) && strings.HasSuffix(err.Error(), known.Error()) }))
			return
		}
		var written strings.Builder
		for name, e := range entries {
			require.True(t, validName(name))
			require.LessOrEqual(t, e.cost, maxCost)
			written.WriteString(name + ":" + string(e.hash) + "\n")
		}
		again, err := parseEntries("path", written.String())
		require.NoError(t, err)
		require.Equal(t, entries, again)
	})
}
