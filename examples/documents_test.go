package examples_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// repository is the directory that a reader's commands start in.
const repository = ".."

// written is the address that the documents name. The servers of the tests listen on free ports.
const written = "http://127.0.0.1:8080"

// patience is how long a session may take. It waits for jobs, which would be for ever if they failed.
const patience = 8 * time.Minute

// block is one fenced block of commands, and the block that shows what they print, if there is one.
type block struct{ commands, shown string }

var fences = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```(?:json|text)\n(.*?)^```\n)?")

// readBlocks returns the command that starts the server, which a document has first, and the reader's own blocks.
func readBlocks(t *testing.T, document string) (serve string, session []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, document))
	require.NoError(t, err)
	for _, found := range fences.FindAllStringSubmatch(string(text), -1) {
		session = append(session, block{commands: found[1], shown: found[2]})
	}
	require.Greater(t, len(session), 1, "commands in %s", document)
	require.Contains(t, session[0].commands, "make run")
	return session[0].commands, session[1:]
}

// endOfBlock is printed after each block, to tell their outputs apart.
const endOfBlock = "\x00"

// follow runs a session in one shell, as a reader would, answering its prompts. It requires each block to print what the
// document shows.
func follow(t *testing.T, session []block, url string, answers ...string) {
	t.Helper()
	script := "set -euo pipefail\n"
	for _, b := range session {
		script += strings.ReplaceAll(b.commands, written, url) + "printf '\\0'\n"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.WaitDelay = time.Second
	shell.Dir = repository
	shell.Stdin = strings.NewReader(strings.Join(answers, "\n") + "\n")
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	stdout, err := shell.Output()
	require.NoError(t, err, "%s%s", stdout, stderr.String())
	printed := strings.Split(string(stdout), endOfBlock)
	shown := 0
	for i, b := range session {
		if b.shown != "" {
			require.Equal(t, b.shown, printed[i], "printed by:\n%s", b.commands)
			shown++
		}
	}
	require.Positive(t, shown, "nothing shown was compared")
}

// needs fails the test when the machine lacks a program.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "this test needs %s: install it", program)
	}
}

func TestSessionOfTheREADMEPrintsWhatItShows(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "make", "curl", "jq")
	command, session := readBlocks(t, "README.md")
	s := serve(t, command)
	follow(t, session, s.url, s.password)
}

// The first time one batch fails, and is replayed once the table is mended; the second time everything is there already.
func TestPublicDataArrivesWholeHoweverOftenItIsLoaded(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "make", "node", "npm")
	command, session := readBlocks(t, "examples/vega/README.md")
	s := serve(t, command)
	for range 2 {
		follow(t, session, s.url, s.dataDir, s.password)
	}
}

// The example is compiled by what its document says, so the types of its operations are those of the schema.
func TestTypedOperationsTellTheirStory(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "make", "node", "npm")
	command, session := readBlocks(t, "examples/typescript/README.md")
	s := serve(t, command)
	follow(t, session, s.url, s.password)
}
