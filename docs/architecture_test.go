package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// list is what "go list" prints about packages of the module, a line each, with the module's name cut off.
func list(t *testing.T, arguments ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"list"}, arguments...)...)
	command.Dir = repository
	output, err := command.Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "fencepost/") {
			found = append(found, strings.ReplaceAll(strings.TrimSpace(line), "fencepost/", ""))
		}
	}
	return found
}

// sorted sorts and leaves each string once.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// parts of the program are its packages, with what is generated from the schema taken as one.
func parts(t *testing.T) (names, imports []string) {
	t.Helper()
	const everyImport = `{{range .Imports}}{{$.ImportPath}} {{.}}{{"\n"}}{{end}}`
	generated := regexp.MustCompile(`\bgraph/(generated|scalar)\b`)
	for _, name := range list(t, "-deps", "./cmd/fencepost") {
		names = append(names, generated.ReplaceAllString(name, "graph/model"))
	}
	for _, line := range list(t, "-deps", "-f", everyImport, "./cmd/fencepost") {
		from, to, _ := strings.Cut(generated.ReplaceAllString(line, "graph/model"), " ")
		if from != to && slices.Contains(names, to) {
			imports = append(imports, from+" -> "+to)
		}
	}
	return sorted(names), sorted(imports)
}

var (
	drawnNode  = regexp.MustCompile(`(?m)^    (\w+)\["([\w/]+)"\]`)
	drawnArrow = regexp.MustCompile(`(?m)^    (\w+)(?:\[.*\])? --> (.+)$`)
)

func TestPictureOfImportsIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	_, picture, _ := strings.Cut(read(t, "architecture.md"), "```mermaid\n")
	picture, _, _ = strings.Cut(picture, "```")
	label := map[string]string{}
	var nodes, arrows []string
	for _, node := range drawnNode.FindAllStringSubmatch(picture, -1) {
		label[node[1]] = node[2]
		nodes = append(nodes, node[2])
	}
	for _, arrow := range drawnArrow.FindAllStringSubmatch(picture, -1) {
		for to := range strings.SplitSeq(arrow[2], " & ") {
			arrows = append(arrows, label[arrow[1]]+" -> "+label[to])
		}
	}
	names, imports := parts(t)
	require.Equal(t, names, sorted(nodes))
	require.Equal(t, imports, sorted(arrows))
}

func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page := read(t, "architecture.md")
	for _, name := range list(t, "./...") {
		require.Contains(t, page, "`"+name+"`")
	}
}
