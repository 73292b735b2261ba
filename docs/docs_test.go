package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is the top of the repository.
const repository = ".."

// files returns the paths of all files of the repository with an extension, without those of installed packages.
func files(t *testing.T, extension string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && path != repository
		if entry.IsDir() && (hidden || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == extension {
			found = append(found, path)
		}
		return err
	})
	require.NoError(t, err)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// existingTests are all tests of the repository, as folder.Name.
func existingTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for _, path := range files(t, ".go") {
		for _, found := range testFunction.FindAllStringSubmatch(read(t, path), -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+found[1]] = true
		}
	}
	return tests
}

var namedTest = regexp.MustCompile("`([a-z]+\\.Test\\w+)`")

func TestEveryTestNamedAsEvidenceExists(t *testing.T) {
	t.Parallel()
	existing := existingTests(t)
	for _, document := range []string{"traceability.md", "reliability.md", "../SECURITY.md"} {
		named := namedTest.FindAllStringSubmatch(read(t, document), -1)
		require.NotEmpty(t, named)
		for _, name := range named {
			require.True(t, existing[name[1]], name[1])
		}
	}
}

func TestEveryRequirementHasARow(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, "traceability.md"), "## Cancellation")
	cancellation, text, _ := strings.Cut(text, "## Replay")
	replay, races, _ := strings.Cut(text, "## Races")
	for section, count := range map[string]int{cancellation: 15, replay: 17} {
		for number := 1; number <= count; number++ {
			require.Equal(t, 1, strings.Count(section, fmt.Sprintf("\n| %d | ", number)), number)
		}
	}
	require.NotEmpty(t, races)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	symbols = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments that the headings of a document can be linked by, as GitHub makes them.
func anchors(document string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(document, ""), -1) {
		found[strings.ReplaceAll(symbols.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

func TestEveryLinkLeadsToAFileAndAHeadingThatExist(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, document := range files(t, ".md") {
		for _, l := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, document), ""), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			path, fragment, _ := strings.Cut(l[1], "#")
			target := document
			if path != "" {
				target = filepath.Join(filepath.Dir(document), path)
			}
			require.FileExists(t, target, "link in %s", document)
			if fragment != "" {
				require.True(t, anchors(read(t, target))[fragment], "%s in %s", l[1], document)
			}
			checked++
		}
	}
	require.Positive(t, checked)
}

// The table of contents is complete, so that no document is lost to a reader who starts there.
func TestTableOfContentsNamesEveryDocument(t *testing.T) {
	t.Parallel()
	contents := read(t, "README.md")
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	decisions, err := filepath.Glob("adr/*.md")
	require.NoError(t, err)
	for _, document := range append(documents, decisions...) {
		if document != "README.md" {
			require.Contains(t, contents, "]("+document+")")
		}
	}
}
