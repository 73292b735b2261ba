package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// bounds is the range of a flag, both ends included.
type bounds[T cmp.Ordered] struct{ min, max T }

// ranged is the value of a flag that must lie within bounds. It keeps the default until it is set.
type ranged[T cmp.Ordered] struct {
	target *T
	bounds bounds[T]
	kind   string
	parse  func(string) (T, error)
}

// String is the value as the help prints it.
func (v ranged[T]) String() string { return fmt.Sprint(*v.target) }

// Type is what the help calls the value.
func (v ranged[T]) Type() string { return v.kind }

// Set takes a value within the bounds.
func (v ranged[T]) Set(text string) error {
	value, err := v.parse(text)
	within := value >= v.bounds.min && value <= v.bounds.max // which NaN is not
	if err != nil || !within {
		return fmt.Errorf("must be from %v to %v", v.bounds.min, v.bounds.max)
	}
	*v.target = value
	return nil
}

func integerFlag(flags *pflag.FlagSet, target *int, name string, b bounds[int], usage string) {
	addRanged(flags, ranged[int]{target, b, "int", strconv.Atoi}, name, usage)
}

func durationFlag(flags *pflag.FlagSet, target *time.Duration, name string, b bounds[time.Duration], usage string) {
	addRanged(flags, ranged[time.Duration]{target, b, "duration", time.ParseDuration}, name, usage)
}

// day is the unit of an age that time.ParseDuration does not know.
const day = 24 * time.Hour

func ageFlag(flags *pflag.FlagSet, target *time.Duration, name string, b bounds[time.Duration], usage string) {
	addRanged(flags, ranged[time.Duration]{target, b, "age", parseAge}, name, usage)
}

// parseAge reads whole days, as in 90d, or a duration of Go.
func parseAge(text string) (time.Duration, error) {
	count, inDays := strings.CutSuffix(text, "d")
	if !inDays {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(count, 10, 16) // 180 years; a duration holds 292
	return time.Duration(days) * day, err
}

func rateFlag(flags *pflag.FlagSet, target *float64, name, usage string) {
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	addRanged(flags, ranged[float64]{target, bounds[float64]{0, 100_000}, "rate", parse}, name, usage)
}

func addRanged[T cmp.Ordered](flags *pflag.FlagSet, v ranged[T], name, usage string) {
	flags.Var(v, name, fmt.Sprintf("%s, from %v to %v", usage, v.bounds.min, v.bounds.max))
}

// choice is the value of a flag that must be on a list.
type choice struct {
	target *string
	list   []string
}

// String is the value as the help prints it.
func (v choice) String() string { return *v.target }

// Type is what the help calls the value.
func (v choice) Type() string { return strings.Join(v.list, "|") }

// Set takes a value on the list.
func (v choice) Set(text string) error {
	if !slices.Contains(v.list, text) {
		return fmt.Errorf("must be one of %s", strings.Join(v.list, ", "))
	}
	*v.target = text
	return nil
}
