package rest_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"fencepost/internal/auth"
	"fencepost/internal/pgtest"
)

// canary is part of every payload, name, password and key in these tests. No answer and no log line may ever have it; each
// one is checked.
const canary = "canary"

// password is that of every user. It has a colon and a letter outside ASCII, as RFC 7617 allows.
const password = "pa:ss wörd " + canary

// authenticator knows alice and bob. The tests share it, so that each credential costs one bcrypt check in all.
var authenticator *auth.Authenticator

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "rest")
	if err != nil {
		panic(err)
	}
	authenticator = openUsers(filepath.Join(directory, "users"))
	if err := os.RemoveAll(directory); err != nil { // the users stay as they were read
		panic(err)
	}
	pgtest.Main(m)
}

func openUsers(path string) *auth.Authenticator {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	users := fmt.Sprintf("alice%[1]s:%[2]s\nbob%[1]s:%[2]s\n", canary, hash)
	if err := os.WriteFile(path, []byte(users), 0o600); err != nil {
		panic(err)
	}
	a, err := auth.Open(path, auth.Options{MaxFailures: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	return a
}

// basic is the Authorization field of a user.
func basic(user string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+canary+":"+password))
}
