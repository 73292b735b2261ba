package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
)

// Pgbench is the floor: the operation's own statements, prepared, with nothing around them.
type Pgbench struct {
	// Binary is the program.
	Binary string
	// DatabaseURL names the database.
	DatabaseURL string
	// Row is the pgbench expression of the row's number. It may use the variables user, client_id and, for a write, next.
	Row string
	// Statements are what one operation runs, for a user's owner hash and a row's id, both as SQL expressions. Several go
	// to the server at once.
	Statements func(owner, id string) ([]string, error)
	// Fuel makes the rows that a write uses up; nil for a read.
	Fuel func(ctx context.Context, ops int64) (first int64, err error)
	// Done counts which of the rows were written; nil for a read.
	Done func(ctx context.Context, first, ops int64) (int64, error)

	next int64
}

// FloorName is what the report calls the floor.
const FloorName = "floor"

// Name implements compare.Target.
func (p *Pgbench) Name() string { return FloorName }

// Prepare implements compare.Target.
func (p *Pgbench) Prepare(ctx context.Context, ops int64) (err error) {
	if p.Fuel != nil {
		p.next, err = p.Fuel(ctx, ops)
	}
	return err
}

// Run implements compare.Target.
func (p *Pgbench) Run(ctx context.Context, b load.Bound) (load.Sample, error) {
	first := p.next
	p.next += b.Ops
	sample, err := p.run(ctx, b, first)
	if err != nil || p.Done == nil {
		return sample, err
	}
	done, err := p.Done(ctx, first, b.Ops)
	sample.Misses = sample.Ops - done
	return sample, err
}

func (p *Pgbench) run(ctx context.Context, b load.Bound, first int64) (load.Sample, error) {
	script, err := p.script()
	if err != nil {
		return load.Sample{}, err
	}
	dir, err := os.MkdirTemp("", "fencepost-pgbench-")
	if err != nil {
		return load.Sample{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return load.Sample{}, err
	}
	args := append(p.arguments(b, first, dir), "-f", path, p.DatabaseURL)
	cmd := exec.CommandContext(ctx, p.Binary, args...) //nolint:gosec // PostgreSQL's own program
	output, err := cmd.CombinedOutput()
	if err != nil {
		return load.Sample{}, fmt.Errorf("pgbench: %w: %s", err, output)
	}
	sample, err := parseReport(string(output))
	if err == nil && b.Ops > 0 {
		sample.Elapsed, err = steadyTime(dir, sample.Ops)
	}
	return sample, err
}

func (p *Pgbench) arguments(b load.Bound, first int64, logDir string) []string {
	args := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(load.Clients), "-j", "2",
		"-D", fmt.Sprintf("first=%d", first), "-D", "turn=-1",
	}
	if b.Ops > 0 {
		return append(args, "-l", "--log-prefix", filepath.Join(logDir, "log"), "-t", strconv.FormatInt(b.Ops/load.Clients, 10))
	}
	return append(args, "-T", strconv.Itoa(max(1, int(b.Duration.Round(time.Second).Seconds()))))
}

// script has a branch for each user, because pgbench has no expression that could pick an owner hash. A write's row is the
// client's next one; a read's user is picked at random.
func (p *Pgbench) script() (string, error) {
	var s strings.Builder
	if p.Fuel != nil {
		fmt.Fprintf(&s, "\\set turn :turn + 1\n\\set next :first + :turn * %d + :client_id\n\\set user :next %% %d\n", load.Clients, seed.Users)
	} else {
		fmt.Fprintf(&s, "\\set user random(0, %d)\n", seed.Users-1)
	}
	fmt.Fprintf(&s, "\\set row %s\n", p.Row)
	for user := range seed.Users {
		statements, err := p.Statements(seed.OwnerSQL(user), seed.IDSQL(":row::bigint"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&s, "\\%s :user = %d\n%s\n", []string{"if", "elif"}[min(user, 1)], user, pipelined(statements))
	}
	s.WriteString("\\endif\n")
	return s.String(), nil
}

func pipelined(statements []string) string {
	text := strings.Join(statements, ";\n") + ";"
	if len(statements) == 1 {
		return text
	}
	return "\\startpipeline\n" + text + "\n\\endpipeline"
}

// steadyTime is how long all operations would have taken at the rate of the middle eight tenths of them, by the log. In the
// first, connections are new and plan their statements; in the last, some clients have nothing left to do.
func steadyTime(dir string, ops int64) (time.Duration, error) {
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return 0, err
	}
	var ends []time.Time
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			var client, transaction, took, script, seconds, microseconds int64
			if _, err := fmt.Sscan(line, &client, &transaction, &took, &script, &seconds, &microseconds); err != nil {
				return 0, fmt.Errorf("log of pgbench: %w", err)
			}
			ends = append(ends, time.Unix(seconds, microseconds*1000))
		}
	}
	if len(ends) < 10 {
		return 0, errors.New("pgbench logged too few transactions")
	}
	slices.SortFunc(ends, time.Time.Compare)
	first, last := len(ends)/10, len(ends)*9/10
	middle := ends[last].Sub(ends[first])
	return time.Duration(float64(middle) * float64(ops) / float64(last-first)), nil
}

var (
	processed = regexp.MustCompile(`number of transactions actually processed: (\d+)`)
	failed    = regexp.MustCompile(`number of failed transactions: (\d+)`)
	rate      = regexp.MustCompile(`tps = ([\d.]+) \(without initial connection time\)`)
)

func parseReport(report string) (load.Sample, error) {
	ops, okOps := number(processed, report)
	tps, okRate := number(rate, report)
	failures, _ := number(failed, report)
	if !okOps || !okRate || tps == 0 {
		return load.Sample{}, errors.New("pgbench reported no rate: " + report)
	}
	return load.Sample{
		Ops: int64(ops), Elapsed: time.Duration(ops / tps * float64(time.Second)), Errors: int64(failures),
	}, nil
}

func number(pattern *regexp.Regexp, text string) (float64, bool) {
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(match[1], 64)
	return value, err == nil
}
