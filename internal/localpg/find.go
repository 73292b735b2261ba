package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// The major versions of PostgreSQL that Fencepost supports.
const (
	minMajor = 15
	maxMajor = 18
)

const remedy = `install it (for example "apt-get install postgresql"), name the directory of its programs with ` +
	`--postgres-bin or FENCEPOST_POSTGRES_BIN, or give the URL of a running server with --database-url`

// usualPlaces are where packages put the programs without adding them to PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // the PostgreSQL project's packages for Red Hat and relatives
	"/usr/lib/postgresql*/bin",           // SUSE
	"/usr/libexec/postgresql*",           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin", // built from source
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// Find returns the directory that holds the PostgreSQL programs postgres and initdb.
//
// A directory named by the user (explicit) is taken or refused, never replaced. With "" the programs on PATH come
// first, then the newest supported version in the places where packages put them. The error says what to do.
func Find(explicit string) (string, error) {
	if explicit == "" {
		return search(filepath.SplitList(os.Getenv("PATH")), usualPlaces)
	}
	dir, err := filepath.Abs(explicit)
	if err == nil {
		_, err = majorVersion(context.Background(), currentUser(), dir)
	}
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, remedy)
	}
	return dir, nil
}

func search(path, patterns []string) (string, error) {
	for _, dir := range path {
		// Distributions link single programs into PATH; the others are where the link leads.
		program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err == nil && supported(filepath.Dir(program)) > 0 {
			return filepath.Dir(program), nil
		}
	}
	best, bestMajor := "", 0
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // the only error is a malformed pattern
		for _, dir := range dirs {
			if major := supported(dir); major > bestMajor {
				best, bestMajor = dir, major
			}
		}
	}
	if best == "" {
		return "", fmt.Errorf("no PostgreSQL %d to %d was found on this machine: %s", minMajor, maxMajor, remedy)
	}
	return best, nil
}

// supported returns the major version of the programs in dir, or 0 when they can't serve.
func supported(dir string) int {
	major, err := majorVersion(context.Background(), currentUser(), dir)
	if err != nil {
		return 0
	}
	return major
}

// majorVersion asks the programs in binDir, run as the account, for their version. It is an error when one is missing,
// can't be run by that user, or is of an unsupported version.
func majorVersion(ctx context.Context, a account, binDir string) (int, error) {
	var majors [2]int
	for i, name := range []string{"initdb", "postgres"} {
		program := filepath.Join(binDir, name)
		output, err := a.command(ctx, "/", program, "--version").Output()
		if err != nil {
			return 0, fmt.Errorf("run %s: %w", program, err)
		}
		match := versionPattern.FindSubmatch(output)
		if match == nil {
			return 0, fmt.Errorf("%s is not a PostgreSQL program", program)
		}
		majors[i], _ = strconv.Atoi(string(match[1])) // digits, by the pattern
	}
	if majors[0] != majors[1] {
		return 0, errors.New("initdb and postgres in " + binDir + " are of different versions")
	}
	if majors[0] < minMajor || majors[0] > maxMajor {
		return 0, fmt.Errorf("%s holds PostgreSQL %d, but only %d to %d are supported", binDir, majors[0], minMajor, maxMajor)
	}
	return majors[0], nil
}
