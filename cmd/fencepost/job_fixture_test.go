package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/client"
)

const orders = `[{"id":"order-1"},{"id":"order-2"}]`

// env is the environment of a user of the server.
func (p *process) env() env {
	return env{"FENCEPOST_SERVER": p.api, "FENCEPOST_USER": name, "FENCEPOST_PASSWORD": password}
}

// job runs "job" against the server.
func (p *process) job(t *testing.T, args ...string) outcome {
	t.Helper()
	return invoke(t, p.env(), nil, append([]string{"job"}, args...)...)
}

// prints runs "job", which must succeed, and returns what it prints.
func (p *process) prints(t *testing.T, args ...string) string {
	t.Helper()
	o := p.job(t, args...)
	require.Equal(t, 0, o.code, o.stderr)
	return o.stdout
}

// id runs "job" and returns the one id that it prints.
func (p *process) id(t *testing.T, args ...string) string {
	t.Helper()
	printed := p.prints(t, append(args, "--output", "id")...)
	id, err := uuid.Parse(strings.TrimSuffix(printed, "\n"))
	require.NoError(t, err)
	require.Equal(t, id.String()+"\n", printed)
	return id.String()
}

// ordersFile is a file with the orders.
func ordersFile(t *testing.T) string {
	t.Helper()
	return write(t, "orders.json", orders, 0o600)
}

func write(t *testing.T, file, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
	return path
}

func parse[T any](t *testing.T, text string) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

func parseJob(t *testing.T, text string) client.Job {
	t.Helper()
	return parse[client.Job](t, text)
}
