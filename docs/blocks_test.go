package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is a fenced block of a document.
type block struct{ document, language, text string }

// reason says why the block is not run, or is empty.
func (b block) reason() string {
	for beginning, reason := range notRun {
		if strings.HasPrefix(b.text, beginning) {
			return reason
		}
	}
	return ""
}

// runners say what is done with a block of a language. A block of another language fails the test.
var runners = map[string]func(*testing.T, block){
	"sh":      runShell,
	"sql":     runSQL,
	"graphql": requireValidGraphQL,
	"text":    requireNamesExist,
}

// elsewhere names the test that runs all blocks of a language in a document, or compares them with the code.
var elsewhere = map[string]string{
	"README.md sh":                       "examples.TestSessionOfTheREADMEPrintsWhatItShows",
	"README.md text":                     "examples.TestSessionOfTheREADMEPrintsWhatItShows",
	"README.md json":                     "examples.TestSessionOfTheREADMEPrintsWhatItShows",
	"README.md mermaid":                  "docs.TestPictureOfStatesIsTheTable",
	"docs/architecture.md mermaid":       "docs.TestPictureOfImportsIsThatOfTheCode",
	"docs/scaling-out.md sql":            "postgres.TestEveryVerbHoldsOnTablesPartitionedByOwner",
	"examples/typescript/README.md sh":   "examples.TestTypedOperationsTellTheirStory",
	"examples/typescript/README.md text": "examples.TestTypedOperationsTellTheirStory",
	"examples/vega/README.md sh":         "examples.TestPublicDataArrivesWholeHoweverOftenItIsLoaded",
	"examples/vega/README.md text":       "examples.TestPublicDataArrivesWholeHoweverOftenItIsLoaded",
}

// notRun says why a block cannot run in a test, by what it begins with. Its syntax is checked, and that what it names is there.
var notRun = map[string]string{
	"git checkout v1.0.0":  "makes a release: scripts/release-test.sh makes one twice",
	"docker compose build": "needs Docker: scripts/image-test.sh runs the image",
	"cd bench && go run .": "measures for minutes",
	"make bench AGAINST=":  "measures for minutes",
	"make bench-tracing":   "measures for minutes",
	"make bench-go":        "measures for a minute; the last of its targets is a step of .ci/run",
	"install -D deploy/systemd/fencepost.sysusers.conf /usr/lib/sysusers.d/fencepost.conf":                  "changes the machine: scripts/lint-deploy.sh checks the units",
	"fencepost users add ann --users-file users":                                                            "needs a cluster: scripts/lint-deploy.sh checks the manifests",
	"kubectl delete job fencepost-migrate --namespace fencepost --ignore-not-found":                         "needs a cluster",
	"FENCEPOST_TEST_POSTGRES_BIN=$(scripts/postgres18.sh) go test ./internal/postgres/... ./migrations/...": "is a step of .ci/run",
	"FENCEPOST_TEST_SCREENSHOTS=$PWD/docs/images go test -run Browser ./internal/webui":                     "takes the pictures anew, which are committed",
	"go test -run '^$' -bench . -benchmem ./graph":                                                          "measures for minutes",
	"make run      # a server with a private PostgreSQL":                                                    "runs all tests",
	"go test ./internal/postgres -run TestCancelling":                                                       "runs tests that run anyway",
	"make test-pgbouncer":  "is a step of .ci/run",
	"make test-containers": "needs Docker",
	"export FENCEPOST_LISTEN_URL=postgres://fencepost@db.example.com:5432/fencepost": "needs PgBouncer: scripts/test-pgbouncer.sh runs the program behind it",
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks are those of all documents that tell a reader what to do.
func blocks(t *testing.T) []block {
	t.Helper()
	var found []block
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "examples/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			text := read(t, path)
			all := fence.FindAllStringSubmatch(text, -1)
			require.Equal(t, strings.Count(text, "\n```"), 2*len(all), "fences of %s", path)
			for _, b := range all {
				found = append(found, block{strings.TrimPrefix(path, repository+"/"), b[1], b[2]})
			}
		}
	}
	return found
}

func TestEveryBlockOfTheDocumentsRunsOrIsChecked(t *testing.T) {
	t.Parallel()
	existing := existingTests(t)
	for _, b := range blocks(t) {
		if test := elsewhere[b.document+" "+b.language]; test != "" {
			require.True(t, existing[test], test)
			continue
		}
		run := runners[b.language]
		require.NotNil(t, run, "a block of the language %q in %s needs a runner", b.language, b.document)
		t.Run(b.document, func(t *testing.T) {
			t.Parallel()
			run(t, b)
		})
	}
}

func TestEveryExceptionIsNeeded(t *testing.T) {
	t.Parallel()
	all, languages := blocks(t), map[string]bool{}
	for _, b := range all {
		languages[b.document+" "+b.language] = true
	}
	for beginning := range notRun {
		require.True(t, slices.ContainsFunc(all, func(b block) bool { return strings.HasPrefix(b.text, beginning) }), beginning)
	}
	for language := range elsewhere {
		require.True(t, languages[language], language)
	}
}

var (
	namedFile   = regexp.MustCompile(`\b(?:deploy|scripts|examples|docs|graph|rest|internal)/[\w./-]*\w`)
	namedTarget = regexp.MustCompile(`(?m)^make ([a-z ]+)`)
)

// requireNamesExist checks what can be checked of commands that do not run.
func requireNamesExist(t *testing.T, b block) {
	t.Helper()
	for _, path := range namedFile.FindAllString(b.text, -1) {
		_, err := os.Stat(filepath.Join(repository, path))
		require.NoError(t, err, b.document)
	}
	makefile := read(t, filepath.Join(repository, "Makefile"))
	for _, found := range namedTarget.FindAllStringSubmatch(b.text, -1) {
		for target := range strings.FieldsSeq(found[1]) {
			require.Contains(t, makefile, "\n"+target+":", b.document)
		}
	}
}
