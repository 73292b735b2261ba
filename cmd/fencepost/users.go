package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fencepost/internal/auth"
	"fencepost/internal/command"
)

// longestInput is more than any password; what is longer is not read.
const longestInput = 4096

func newUsersCommand(sh command.Shell) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "users",
		Short: "Manage the users file",
		Long: `Manage the users file: an htpasswd file of bcrypt hashes. A running server notices a change within a second.

"serve" without a database URL makes a users file of its own; its start message names it.`,
		Args: cobra.NoArgs,
		RunE: command.ShowHelp,
	}
	cmd.PersistentFlags().StringVar(&file, "users-file", "", "htpasswd file of the users")
	cmd.AddCommand(newUsersAddCommand(sh, &file), newUsersRemoveCommand(&file), newUsersListCommand(&file))
	return cmd
}

func newUsersAddCommand(sh command.Shell, file *string) *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user, or give one a new password",
		Example: `  fencepost users add ann --users-file users
  fencepost users add ann --users-file users --password-stdin <password.txt`,
		Args: command.NamedArgs,
		RunE: withUsersFile(file, func(cmd *cobra.Command, args []string) error {
			password, err := readPassword(sh, fromStdin)
			if err != nil {
				return err
			}
			if err := auth.Add(*file, args[0], password); err != nil {
				return err
			}
			cmd.Println("Added", args[0]+".")
			return nil
		}),
	}
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from the first line of standard input")
	return cmd
}

func newUsersRemoveCommand(file *string) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a user; the user's jobs stay",
		Example: "  fencepost users remove ann --users-file users",
		Args:    command.NamedArgs,
		RunE: withUsersFile(file, func(cmd *cobra.Command, args []string) error {
			if err := auth.Remove(*file, args[0]); err != nil {
				return err
			}
			cmd.Println("Removed", args[0]+".")
			return nil
		}),
	}
}

func newUsersListCommand(file *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the users' names",
		Example: "  fencepost users list --users-file users",
		Args:    cobra.NoArgs,
		RunE: withUsersFile(file, func(cmd *cobra.Command, _ []string) error {
			names, err := auth.List(*file)
			for _, name := range names {
				cmd.Println(name)
			}
			return err
		}),
	}
}

func withUsersFile(file *string, act command.Action) command.Action {
	return func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return errors.New("name the users file with --users-file or FENCEPOST_USERS_FILE")
		}
		return act(cmd, args)
	}
}

// readPassword takes the first line of standard input, or asks for the password twice.
func readPassword(sh command.Shell, fromStdin bool) (string, error) {
	if fromStdin {
		input, err := io.ReadAll(io.LimitReader(sh.Stdin, longestInput))
		line, _, _ := strings.Cut(string(input), "\n")
		return strings.TrimSuffix(line, "\r"), err
	}
	terminal, ok := sh.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", errors.New("there is no terminal to ask for the password on: use --password-stdin")
	}
	password, err := ask(sh, terminal, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := ask(sh, terminal, "Password again: ")
	if err == nil && again != password {
		err = errors.New("the two passwords differ")
	}
	return password, err
}

func ask(sh command.Shell, terminal *os.File, prompt string) (string, error) {
	fmt.Fprint(sh.Stderr, prompt)
	password, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(sh.Stderr)
	return string(password), err
}
