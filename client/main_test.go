package client_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"fencepost/internal/auth"
	"fencepost/internal/pgtest"
)

// user and password are those of every test.
const (
	user     = "ann"
	password = "pa:ss wörd"
)

// authenticator knows the one user. The tests share it, so that the credential costs one bcrypt check in all.
var authenticator *auth.Authenticator

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "client")
	if err != nil {
		panic(err)
	}
	authenticator = openUsers(filepath.Join(directory, "users"))
	if err := os.RemoveAll(directory); err != nil { // the user stays as it was read
		panic(err)
	}
	pgtest.Main(m)
}

func openUsers(path string) *auth.Authenticator {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600); err != nil {
		panic(err)
	}
	a, err := auth.Open(path, auth.Options{MaxFailures: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	return a
}
