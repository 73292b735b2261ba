// Package command is what all commands of the program share: how one is run, how a flag is bounded, and how each flag has a
// twin in the environment.
package command
