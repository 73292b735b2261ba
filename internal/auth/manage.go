package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/google/renameio/v2"
	"golang.org/x/crypto/bcrypt"
)

const (
	// minPasswordLength is the shortest password that [Add] takes, in characters.
	minPasswordLength = 8
	// newFileMode keeps the hashes from everybody but the owner of the file.
	newFileMode = 0o600
)

var (
	// ErrInvalidPassword is returned by [Add] for a password that is too short, or that Basic or bcrypt cannot carry.
	ErrInvalidPassword = errors.New("a password is 8 characters to 72 bytes of UTF-8 without control characters")
	// ErrUserNotFound is returned by [Remove] for a name that is not in the file.
	ErrUserNotFound = errors.New("there is no such user")
)

// NewPassword returns a random password with at least 128 bits of entropy: 26 letters and digits.
func NewPassword() string { return rand.Text() }

// Add gives a user a password in the users file at path, replacing the one it had. A missing file is created, readable
// by its owner alone. Name and password are refused as [ErrInvalidName] and [ErrInvalidPassword].
func Add(path, name, password string) error {
	if !validName(name) {
		return ErrInvalidName
	}
	if utf8.RuneCountInString(password) < minPasswordLength || !printable(password) {
		return ErrInvalidPassword
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), Cost)
	if err != nil { // over 72 bytes, which is all that bcrypt refuses
		return ErrInvalidPassword
	}
	return edit(path, func(text string) string {
		return withoutUser(text, name) + name + ":" + string(hash) + "\n"
	})
}

// Remove takes a user out of the users file at path. An unknown name is [ErrUserNotFound].
func Remove(path, name string) error {
	names, err := List(path)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return ErrUserNotFound
	}
	return edit(path, func(text string) string { return withoutUser(text, name) })
}

// List returns the names in the users file at path, sorted.
func List(path string) ([]string, error) {
	_, entries, err := load(path)
	return slices.Sorted(maps.Keys(entries)), err
}

// edit changes the text of a users file, which must be well-formed before. A reader sees the old file or the new one,
// never a part; two edits at once follow each other. The file keeps its permissions.
func edit(path string, change func(text string) string) error {
	locked, err := lock(path + ".lock")
	if err != nil {
		return fmt.Errorf("lock the users file: %w", err)
	}
	defer func() { _ = locked.Close() }()
	text, _, err := load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return renameio.WriteFile(path, []byte(change(text)), newFileMode, renameio.WithExistingPermissions())
}

// lock waits for an exclusive lock, which ends when the file is closed. It is on a file of its own, which stays there:
// the users file itself is another one after every edit.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, newFileMode)
	if err != nil {
		return nil, err
	}
	return file, syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
}

// withoutUser returns htpasswd text with every line ended and without the user's line.
func withoutUser(text, name string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if line = trimLineEnd(line); !strings.HasPrefix(line, name+":") {
			rest.WriteString(line + "\n")
		}
	}
	return rest.String()
}
