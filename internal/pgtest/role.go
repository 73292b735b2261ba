package pgtest

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// As returns the connection string of the same database for another of the roles in deploy/roles. It takes the role when it
// connects, and has its privileges until it says SET ROLE, which the product never does. No pooler is on the way.
func As(t testing.TB, address, role string) string {
	t.Helper()
	changed, err := withRole(Direct(address), role)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return changed
}

// Superuser returns the connection string of the same database for somebody whom nothing is denied, so that a test can make
// states that the product can't.
func Superuser(t testing.TB, address string) string {
	t.Helper()
	return As(t, address, "")
}

// withRole returns a URL under which connections begin with a role, or with none but that of the user.
func withRole(address, role string) (string, error) {
	u, err := parse(address)
	if err != nil {
		return "", err
	}
	parameters := u.Query()
	parameters.Del("options")
	if role != "" {
		parameters.Set("options", "-crole="+role)
	}
	u.RawQuery = parameters.Encode()
	return u.String(), nil
}

// withDatabase returns the URL of another database on the same server.
func withDatabase(server, name string) (string, error) {
	u, err := parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, errors.New(databaseURLVariable + " must be a URL of the form postgres://…")
	}
	return u, nil
}
