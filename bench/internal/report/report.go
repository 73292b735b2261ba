// Package report writes down what a run has measured: as JSON for programs, and as Markdown for people.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"fencepost/bench/internal/compare"
)

// Report is all that a run has measured.
type Report struct {
	Began   time.Time        `json:"began"`
	Took    string           `json:"took"`
	Command string           `json:"command"`
	Machine Machine          `json:"machine"`
	Results []compare.Result `json:"results"`
	// Plots are the SVG files of the curves.
	Plots []string `json:"plots,omitempty"`
}

// Machine is what the numbers depend on.
type Machine struct {
	Processors int    `json:"processors"`
	Platform   string `json:"platform"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Commit     string `json:"commit"`
}

// ThisMachine describes the machine, given the server's version.
func ThisMachine(ctx context.Context, postgresql string) Machine {
	commit, _ := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output() // none outside a checkout
	return Machine{
		Processors: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		PostgreSQL: postgresql, Commit: strings.TrimSpace(string(commit)),
	}
}

// Write makes report.json, report.md and the plots in a directory.
func (r Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	for _, result := range r.Results {
		for _, curve := range result.Curves {
			name, err := draw(dir, curve)
			if err != nil {
				return fmt.Errorf("draw %s: %w", curve.Name, err)
			}
			r.Plots = append(r.Plots, name)
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), text, 0o644); err != nil { //nolint:gosec // see above
		return err
	}
	file, err := os.Create(filepath.Join(dir, "report.md"))
	if err != nil {
		return err
	}
	r.Markdown(file)
	return file.Close()
}

// Markdown writes the tables.
func (r Report) Markdown(w io.Writer) {
	fmt.Fprintf(w, "# Measured on %s\n\n", r.Began.UTC().Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(w, "`%s` at %s, %d processors, %s, %s, PostgreSQL %s; took %s.\n\n", r.Command, r.Machine.Commit,
		r.Machine.Processors, r.Machine.Platform, r.Machine.Go, r.Machine.PostgreSQL, r.Took)
	r.goals(w)
	r.rates(w)
	r.latencies(w)
	r.numbers(w)
	for _, plot := range r.Plots {
		fmt.Fprintf(w, "![%s](%s)\n\n", strings.TrimSuffix(plot, filepath.Ext(plot)), plot)
	}
}

func (r Report) goals(w io.Writer) {
	fmt.Fprint(w, "## Goals\n\n| goal | must | aim | measured | range | reached |\n| --- | ---: | ---: | ---: | --- | --- |\n")
	for _, result := range r.Results {
		for _, v := range result.Goals {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s to %s | %s |\n", v.Name, number(v.Must, v.Unit), number(v.Aim, v.Unit),
				number(v.Measured.Median, v.Unit), number(v.Measured.Min, ""), number(v.Measured.Max, v.Unit), reached(result, v))
		}
	}
}

func reached(r compare.Result, v compare.Verdict) string {
	switch {
	case r.Void != "":
		return "void"
	case v.ReachesAim():
		return "aim"
	case v.ReachesMust():
		return "must"
	default:
		return "**no**"
	}
}

func (r Report) rates(w io.Writer) {
	fmt.Fprint(w, "\n## Rates\n\n| operation | by | a second | range |\n| --- | --- | ---: | --- |\n")
	for _, result := range r.Results {
		for _, target := range slices.Sorted(maps.Keys(result.Rates)) {
			rate := result.Rates[target]
			fmt.Fprintf(w, "| %s | %s | %.0f | %.0f to %.0f |\n", result.Name, target, rate.Median, rate.Min, rate.Max)
		}
		if result.Void != "" {
			fmt.Fprintf(w, "| %s | | **void** | %s |\n", result.Name, strings.ReplaceAll(result.Void, "|", `\|`))
		}
	}
}

func (r Report) latencies(w io.Writer) {
	fmt.Fprint(w, "\n## Latency\n\nAt a fixed rate, from the moment that a call was due, in milliseconds.\n\n"+
		"| operation | by | rate | p50 | p99 | p99.9 | greatest | calls | failed |\n"+
		"| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, result := range r.Results {
		for _, target := range slices.Sorted(maps.Keys(result.Latency)) {
			l := result.Latency[target]
			fmt.Fprintf(w, "| %s | %s | %.0f | %s | %s | %s | %s | %d | %d |\n", result.Name, target, l.Rate,
				milliseconds(l.P50), milliseconds(l.P99), milliseconds(l.P999), milliseconds(l.Max), l.NumberOfCalls, l.ErrorsOrMiss)
		}
	}
	fmt.Fprintln(w)
}

// numbers are what no goal bounds; there is no such table without any.
func (r Report) numbers(w io.Writer) {
	header := "## Numbers\n\n| operation | number | |\n| --- | --- | ---: |\n"
	footer := ""
	for _, result := range r.Results {
		for _, n := range result.Numbers {
			fmt.Fprintf(w, "%s| %s | %s | %s |\n", header, result.Name, n.Name, number(n.Value, n.Unit))
			header, footer = "", "\n"
		}
	}
	fmt.Fprint(w, footer)
}

func milliseconds(microseconds int64) string { return fmt.Sprintf("%.2f", float64(microseconds)/1000) }

// number writes a ratio with two digits behind the point, and a time or a size with as many as are of interest.
func number(value float64, unit string) string {
	switch {
	case unit != "":
		return fmt.Sprintf("%.3g %s", value, unit)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
