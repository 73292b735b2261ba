package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fencepost/internal/command"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// repository is the top of the repository.
const repository = "../.."

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	require.NoError(t, err)
	return string(text)
}

// requireUnderstood fails unless the program takes a command line and its environment, names and values.
func requireUnderstood(t *testing.T, e env, args ...string) {
	t.Helper()
	root := newRootCommand(command.Shell{})
	cmd, rest, err := root.Find(args)
	require.NoError(t, err)
	require.True(t, cmd.Runnable(), "%v", args)
	require.NoError(t, cmd.ParseFlags(rest), "%v", args)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), "%v", args)
	require.NoError(t, command.ApplyEnvironment(cmd.Flags(), e.lookup), "%v", args)
	for name := range e {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "FENCEPOST_"), "_", "-"))
		serve, _, err := root.Find([]string{"serve"})
		require.NoError(t, err)
		require.NotNil(t, serve.Flags().Lookup(flag), name)
	}
}

func TestCommandsInComposeAreUnderstood(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment env
			HealthCheck struct{ Test []string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "compose.yaml")), &compose))
	for _, service := range []string{"migrate", "server", "worker"} {
		s := compose.Services[service]
		require.Contains(t, s.Image, "fencepost")
		requireUnderstood(t, s.Environment, s.Command...)
		if len(s.HealthCheck.Test) > 0 {
			requireUnderstood(t, nil, s.HealthCheck.Test[2:]...)
		}
	}
}

func TestCommandsInKubernetesAreUnderstood(t *testing.T) {
	t.Parallel()
	var settings struct {
		ConfigMapGenerator []struct{ Literals []string } `yaml:"configMapGenerator"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "deploy/kubernetes/kustomization.yaml")), &settings))
	e := environment(settings.ConfigMapGenerator[0].Literals)
	for _, file := range []string{"migrate", "server", "worker"} {
		var workload struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "deploy/kubernetes/"+file+".yaml")), &workload))
		requireUnderstood(t, e, workload.Spec.Template.Spec.Containers[0].Args...)
	}
}

func TestCommandsInSystemdUnitsAreUnderstood(t *testing.T) {
	t.Parallel()
	e := environment(strings.Split(readFile(t, "deploy/systemd/fencepost.env"), "\n"))
	for _, unit := range []string{"migrate", "serve", "work"} {
		_, line, found := strings.Cut(readFile(t, "deploy/systemd/fencepost-"+unit+".service"), "\nExecStart=/usr/local/bin/fencepost ")
		require.True(t, found, unit)
		line, _, _ = strings.Cut(line, "\n")
		requireUnderstood(t, e, strings.Fields(line)...)
	}
}

// documents are the texts of the README and of docs.
func documents(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(repository + "/docs/*.md")
	require.NoError(t, err)
	texts := []string{readFile(t, "README.md")}
	for _, path := range paths {
		texts = append(texts, readFile(t, strings.TrimPrefix(path, repository)))
	}
	return texts
}

func TestCommandsInTheDocumentsAreUnderstood(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^fencepost (.+)$`)
	understood := 0
	for _, document := range documents(t) {
		for _, c := range command.FindAllStringSubmatch(document, -1) {
			line, _, _ := strings.Cut(c[1], " | ")
			requireUnderstood(t, nil, strings.Fields(line)...)
			understood++
		}
	}
	require.Positive(t, understood)
}

func TestCommandsAndFlagsNamedInTheDocumentsExist(t *testing.T) {
	t.Parallel()
	flags := ""
	var note func(cmd *cobra.Command)
	note = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		flags += cmd.LocalFlags().FlagUsages()
		for _, sub := range cmd.Commands() {
			note(sub)
		}
	}
	root := newRootCommand(command.Shell{})
	note(root)
	command, flag := regexp.MustCompile("`fencepost ([a-z ]+)"), regexp.MustCompile("`(--[a-z-]+)")
	for _, document := range documents(t) {
		for _, c := range command.FindAllStringSubmatch(document, -1) {
			_, rest, err := root.Find(strings.Fields(c[1]))
			require.NoError(t, err, c[0])
			require.Empty(t, rest, c[0])
		}
		for _, f := range flag.FindAllStringSubmatch(document, -1) {
			require.Contains(t, flags, " "+f[1], f[0])
		}
	}
}

// environment is what assignments say, a line each.
func environment(lines []string) env {
	e := env{}
	for _, line := range lines {
		if name, value, found := strings.Cut(line, "="); found && !strings.HasPrefix(line, "#") {
			e[name] = value
		}
	}
	return e
}
