package docs_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"fencepost/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a block of commands may take.
const patience = 5 * time.Minute

// prelude stands in front of a block. It answers the program's question for a password, and leaves a server or worker
// behind once it has said that it is ready, until the shell ends.
const prelude = `set -euo pipefail
started=()
fencepost() {
  case $1 in
    users) command fencepost "$@" --password-stdin <<<"a password of ann" ;;
    serve | work)
      local ready
      exec {out}< <(exec fencepost "$@")
      started+=($!)
      trap 'kill "${started[@]}"; wait "${started[@]}" || true' EXIT
      read -r -u "$out" ready
      ;;
    *) command fencepost "$@" ;;
  esac
}
`

// runShell runs a block in a folder with the files that it speaks of, on a migrated database unless it names another, which
// is an empty one.
func runShell(t *testing.T, b block) {
	if b.reason() != "" {
		requireNamesExist(t, b)
		output, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", b.text).CombinedOutput()
		require.NoError(t, err, "%s: %s", b.document, output)
		return
	}
	folder := t.TempDir()
	prepare(t, folder)
	here := strings.NewReplacer("postgres://fencepost@db.example.com/fencepost", "'"+pgtest.EmptyURL(t)+"'", ":8443", "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", prelude+here.Replace(b.text))
	shell.Dir = folder
	shell.WaitDelay = time.Second
	shell.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"),
		"FENCEPOST_DATABASE_URL="+pgtest.Superuser(t, pgtest.URL(t)), "FENCEPOST_ADMIN_LISTEN=127.0.0.1:0")
	output, err := shell.CombinedOutput()
	require.NoError(t, err, "%s: %s%s", b.document, b.text, output)
}

// prepare puts the program into a folder, and the files that documents speak of.
func prepare(t *testing.T, folder string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "fencepost"), "./cmd/fencepost")
	build.Dir = repository
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	load := read(t, filepath.Join(repository, "examples/slow-load.sql"))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "load.sql"), []byte(load), 0o600))
	writeCertificate(t, folder)
}

// writeCertificate writes server.crt and server.key.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	certificate := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	for name, part := range map[string]*pem.Block{
		"server.crt": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		"server.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(part), 0o600))
	}
}

// runSQL runs statements on a migrated database, with the arguments of a load statement if they name one.
func runSQL(t *testing.T, b block) {
	pool := pgtest.SuperuserPool(t, pgtest.URL(t))
	_, err := pool.Exec(t.Context(), "CREATE TABLE prices (item text, price numeric(10, 2), job_record_id uuid)")
	require.NoError(t, err)
	var arguments []any
	if strings.Contains(b.text, "@records") {
		arguments = append(arguments, pgx.NamedArgs{
			"records": `[{"id": "tea", "price": 4.20}]`, "job_record_id": uuid.NewString(), "owner": make([]byte, 32),
		})
	}
	_, err = pool.Exec(t.Context(), b.text, arguments...)
	require.NoError(t, err, "%s: %s", b.document, b.text)
}

func requireValidGraphQL(t *testing.T, b block) {
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: read(t, filepath.Join(repository, "schema.graphqls"))})
	require.NoError(t, err)
	_, errs := gqlparser.LoadQueryWithRules(schema, b.text, rules.NewDefaultRules())
	require.Empty(t, errs, "%s: %s", b.document, b.text)
}

var (
	drawnStep = regexp.MustCompile(`(?m)^    ([A-Z]+) --> ([A-Z]+):`)
	tabled    = regexp.MustCompile("(?m)^\\| (`[A-Z]+`(?:, `[A-Z]+`)*) \\| `([A-Z]+)` \\|")
)

func TestPictureOfStatesIsTheTable(t *testing.T) {
	t.Parallel()
	var drawn, told []string
	for _, step := range drawnStep.FindAllStringSubmatch(read(t, filepath.Join(repository, "README.md")), -1) {
		drawn = append(drawn, step[1]+" -> "+step[2])
	}
	for _, row := range tabled.FindAllStringSubmatch(read(t, "concepts.md"), -1) {
		for from := range strings.SplitSeq(row[1], ", ") {
			told = append(told, strings.Trim(from, "`")+" -> "+row[2])
		}
	}
	require.NotEmpty(t, drawn)
	slices.Sort(drawn)
	require.Equal(t, drawn, sorted(told))
}
