package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Bounds is the range of a flag, both ends included.
type Bounds[T cmp.Ordered] struct{ Min, Max T }

// ranged is the value of a flag that must lie within bounds. It keeps the default until it is set.
type ranged[T cmp.Ordered] struct {
	target *T
	bounds Bounds[T]
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
	within := value >= v.bounds.Min && value <= v.bounds.Max // which NaN is not
	if err != nil || !within {
		return fmt.Errorf("must be from %v to %v", v.bounds.Min, v.bounds.Max)
	}
	*v.target = value
	return nil
}

// IntegerFlag adds a flag for a whole number, whose default is the target's value.
func IntegerFlag(flags *pflag.FlagSet, target *int, name string, b Bounds[int], usage string) {
	addRanged(flags, ranged[int]{target, b, "int", strconv.Atoi}, name, usage)
}

// DurationFlag adds a flag for a duration of Go, such as 1m30s, whose default is the target's value.
func DurationFlag(flags *pflag.FlagSet, target *time.Duration, name string, b Bounds[time.Duration], usage string) {
	addRanged(flags, ranged[time.Duration]{target, b, "duration", time.ParseDuration}, name, usage)
}

// Day is the unit of an age that time.ParseDuration does not know.
const Day = 24 * time.Hour

// AgeFlag adds a flag for a duration that may also be whole days, such as 90d.
func AgeFlag(flags *pflag.FlagSet, target *time.Duration, name string, b Bounds[time.Duration], usage string) {
	addRanged(flags, ranged[time.Duration]{target, b, "age", parseAge}, name, usage)
}

// parseAge reads whole days, as in 90d, or a duration of Go.
func parseAge(text string) (time.Duration, error) {
	count, inDays := strings.CutSuffix(text, "d")
	if !inDays {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(count, 10, 16) // 180 years; a duration holds 292
	return time.Duration(days) * Day, err
}

// RateFlag adds a flag for how often something may happen in a second; 0 is without limit.
func RateFlag(flags *pflag.FlagSet, target *float64, name, usage string) {
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	addRanged(flags, ranged[float64]{target, Bounds[float64]{0, 100_000}, "rate", parse}, name, usage)
}

func addRanged[T cmp.Ordered](flags *pflag.FlagSet, v ranged[T], name, usage string) {
	flags.Var(v, name, fmt.Sprintf("%s, from %v to %v", usage, v.bounds.Min, v.bounds.Max))
}

// ChoiceFlag adds a flag whose value must be on a list, and whose default is the target's value.
func ChoiceFlag(flags *pflag.FlagSet, target *string, name string, list []string, usage string) {
	flags.Var(choice{target, list}, name, usage)
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
