package docs_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
	"github.com/stretchr/testify/require"
)

// allowedLicenses are those, by their SPDX names, under which what we ship may be shipped with ours. MPL-2.0 wants the source of
// changed files, and we change none of others.
var allowedLicenses = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "PSF-2.0", "Unlicense"}

// leastCoverage is how much of a licence file must be a licence that is known, in percent. The rest is names and notices.
const leastCoverage = 80

// shippedModules are the folders of the modules in the program, by their names.
func shippedModules(t *testing.T) map[string]string {
	t.Helper()
	const modules = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}`
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", modules, "./cmd/fencepost")
	command.Dir = repository
	output, err := command.Output()
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if name, folder, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[name] = folder
		}
	}
	return found
}

func TestEveryModuleInTheProgramHasAnAllowedLicense(t *testing.T) {
	t.Parallel()
	modules := shippedModules(t)
	require.NotEmpty(t, modules)
	for name, folder := range modules {
		texts, err := filepath.Glob(filepath.Join(folder, "*[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*"))
		require.NoError(t, err)
		require.NotEmpty(t, texts, name)
		for _, text := range texts {
			requireAllowed(t, name, read(t, text))
		}
	}
}

func requireAllowed(t *testing.T, name, text string) {
	t.Helper()
	found := licensecheck.Scan([]byte(text))
	require.GreaterOrEqual(t, found.Percent, float64(leastCoverage), name)
	for _, license := range found.Match {
		require.Contains(t, allowedLicenses, license.ID, name)
	}
}

func TestEveryPackageInThePagesHasAnAllowedLicense(t *testing.T) {
	t.Parallel()
	var lock struct {
		Packages map[string]struct {
			License string
			Dev     bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(repository, "internal/webui/playground/package-lock.json"))), &lock))
	require.NotEmpty(t, lock.Packages)
	for name, shipped := range lock.Packages { // "" is the page itself
		if name != "" && !shipped.Dev {
			require.True(t, slices.Contains(allowedLicenses, shipped.License), "%s: %q", name, shipped.License)
		}
	}
}
