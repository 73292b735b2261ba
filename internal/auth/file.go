package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// checkEvery is the least time between two looks at the users file.
	checkEvery = time.Second
	// maxFileBytes bounds the users file: some ten thousand users.
	maxFileBytes = 1 << 20
)

var errFileTooLarge = fmt.Errorf("a users file is at most %d bytes", maxFileBytes)

// usersFile is a users file that follows its changes. It compares content rather than times and sizes: a file this
// small is quickly read, and content notices what a clock's resolution or a renamed file would hide.
type usersFile struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	checked time.Time
	seen    version
	good    *users
}

// version identifies what was last found at the path: some content, or nothing readable.
type version struct {
	digest   [sha256.Size]byte
	readable bool
}

// openUsersFile reads the file for the first time, when a broken one is an error.
func openUsersFile(path string, log *slog.Logger, now func() time.Time) (*usersFile, error) {
	text, entries, err := load(path)
	if err != nil {
		return nil, err
	}
	seen := version{digest: sha256.Sum256([]byte(text)), readable: true}
	return &usersFile{path: path, log: log, now: now, checked: now(), seen: seen, good: newUsers(entries)}, nil
}

// current returns the users in force, having looked at the file if the last look is a second old.
func (f *usersFile) current() *users {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.checked) >= checkEvery {
		f.checked = now
		f.refresh()
	}
	return f.good
}

// refresh replaces the users when the file has changed for the better, and logs every change once.
func (f *usersFile) refresh() {
	text, err := readFile(f.path)
	found := version{digest: sha256.Sum256([]byte(text)), readable: err == nil}
	if found == f.seen {
		return
	}
	f.seen = found
	if err != nil {
		f.log.Warn("users file kept as it was", "code", "users_file_unreadable")
		return
	}
	entries, err := parseEntries(f.path, text)
	if err != nil {
		f.log.Warn("users file kept as it was", "code", "users_file_invalid")
		return
	}
	f.good = newUsers(entries)
	f.log.Info("users file reloaded", "code", "users_file_reloaded")
}

// load reads and parses a users file.
func load(path string) (text string, entries map[string]entry, err error) {
	text, err = readFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("users file: %w", err)
	}
	entries, err = parseEntries(path, text)
	return text, entries, err
}

// readFile reads a users file whole. On an error the text is empty.
func readFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if len(content) > maxFileBytes {
		return "", fmt.Errorf("%s: %w", path, errFileTooLarge)
	}
	return string(content), nil
}
