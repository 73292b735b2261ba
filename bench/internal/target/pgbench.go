package target

import (
	"cmp"
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

	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/seed"
)

// Pgbench is the database alone: the operation's own statements, prepared, with nothing around them.
type Pgbench struct {
	// Label is its name in the report; empty means [FloorName].
	Label string
	// Binary is the program.
	Binary string
	// DatabaseURL names the database.
	DatabaseURL string
	// Row is the pgbench expression of a row's number for a read. It may use the variable user. A write takes the next rows.
	Row string
	// Statements are what operations on some rows run, for the rows' user's owner hash and their ids, all as SQL expressions. Several
	// go to the server at once.
	Statements func(owner string, ids []string) ([]string, error)
	// Fuel makes the rows that a write uses up; nil for a read.
	Fuel func(ctx context.Context, ops int64) (first int64, err error)
	// Done counts which of the rows were written; nil for a read.
	Done func(ctx context.Context, first, ops int64) (int64, error)
	// Way is how the operations go to the server; its zero value is that of the floor.
	Way Way

	next int64
}

// Way is how many operations pgbench has under way, and how they travel.
type Way struct {
	// Clients is how many there are; 0 means [load.Clients].
	Clients int64
	// Pipeline is how many operations go out at once, and Rows how many are in one statement; 0 means one.
	Pipeline, Rows int64
}

// String tells what is not the usual.
func (w Way) String() string {
	return fmt.Sprintf("%d clients, %d in a pipeline, %d in a statement", w.clients(), max(1, w.Pipeline), max(1, w.Rows))
}

func (w Way) clients() int64 { return cmp.Or(w.Clients, load.Clients) }

// Together is how many operations are one transaction of a client, all of one user's.
func (w Way) Together() int64 { return max(1, w.Pipeline) * max(1, w.Rows) }

// transactions is how many of them each client has to do, so that all together do at most so many operations. Users take turns from one
// transaction to the next, so that the numbers of a write's rows have no gap when each has had as many turns.
func (w Way) transactions(ops int64) int64 {
	turn := max(1, seed.Users/w.clients())
	return max(1, ops/(w.clients()*w.Together()*turn)) * turn
}

// ErrNoRate means that too few transactions came to their end for a rate.
var ErrNoRate = errors.New("pgbench has no rate")

// FloorName is what the report calls the floor.
const FloorName = "floor"

// Name implements compare.Target.
func (p *Pgbench) Name() string { return cmp.Or(p.Label, FloorName) }

// Prepare implements compare.Target.
func (p *Pgbench) Prepare(ctx context.Context, ops int64) (err error) {
	if p.Fuel != nil {
		p.next, err = p.Fuel(ctx, ops)
	}
	return err
}

// Run implements compare.Target.
func (p *Pgbench) Run(ctx context.Context, b load.Bound) (load.Sample, error) {
	sample, dir, err := p.run(ctx, b)
	defer os.RemoveAll(dir)
	if err == nil {
		sample.Elapsed, err = steadyTime(dir)
	}
	return sample, err
}

// RunAt implements compare.Paced. With a rate, pgbench logs how long each transaction took from the moment that it was due.
func (p *Pgbench) RunAt(ctx context.Context, rate float64, b load.Bound) (compare.Latency, error) {
	sample, dir, err := p.run(ctx, b, "-R", fmt.Sprintf("%.1f", rate))
	defer os.RemoveAll(dir)
	if err != nil {
		return compare.Latency{}, err
	}
	all := load.NewHistogram()
	err = readLog(dir, func(_ time.Time, took int64) { _ = all.RecordValue(min(max(1, took), all.HighestTrackableValue())) })
	return latencyOf(rate, sample, all), err
}

// run leaves the log in a directory, which is to be removed.
func (p *Pgbench) run(ctx context.Context, b load.Bound, flags ...string) (sample load.Sample, dir string, err error) {
	script, err := p.script()
	if err != nil {
		return sample, "", err
	}
	if dir, err = os.MkdirTemp("", "fencepost-pgbench-"); err != nil {
		return sample, "", err
	}
	path := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return sample, dir, err
	}
	first := p.next
	p.next += b.Ops
	args := slices.Concat(p.arguments(b, first, dir), flags, []string{"-f", path, p.DatabaseURL})
	cmd := exec.CommandContext(ctx, p.Binary, args...) //nolint:gosec // PostgreSQL's own program
	output, err := cmd.CombinedOutput()
	if err != nil {
		return sample, dir, fmt.Errorf("pgbench: %w: %s", err, output)
	}
	if sample, err = parseReport(string(output)); err != nil {
		return sample, dir, err
	}
	sample.Ops *= p.Way.Together()
	if p.Done != nil {
		done, err := p.Done(ctx, first, sample.Ops)
		sample.Misses = sample.Ops - done
		return sample, dir, err
	}
	return sample, dir, nil
}

func (p *Pgbench) arguments(b load.Bound, first int64, logDir string) []string {
	clients := p.Way.clients()
	args := []string{
		"-n", "-M", "prepared", "-c", fmt.Sprint(clients), "-j", fmt.Sprint(min(clients, 2)),
		"-D", fmt.Sprintf("first=%d", first), "-D", "turn=-1", "-l", "--log-prefix", filepath.Join(logDir, "log"),
	}
	if b.Ops > 0 {
		return append(args, "-t", fmt.Sprint(p.Way.transactions(b.Ops)))
	}
	return append(args, "-T", strconv.Itoa(max(1, int(b.Duration.Round(time.Second).Seconds()))))
}

// script has a branch for each user, because pgbench has no expression that could pick an owner hash. A write's rows are the
// client's next ones; a read's user is picked at random.
func (p *Pgbench) script() (string, error) {
	var s strings.Builder
	together := p.Way.Together()
	if p.Fuel != nil {
		fmt.Fprintf(&s, "\\set turn :turn + 1\n\\set group :turn * %d + :client_id\n\\set user :group %% %d\n", p.Way.clients(), seed.Users)
	} else {
		fmt.Fprintf(&s, "\\set user random(0, %d)\n", seed.Users-1)
	}
	ids := make([]string, together)
	for i := range ids {
		row := p.Row
		if p.Fuel != nil {
			row = fmt.Sprintf(":first + :group / %d * %d + %d + :user", seed.Users, seed.Users*together, seed.Users*i)
		}
		fmt.Fprintf(&s, "\\set row%d %s\n", i, row)
		ids[i] = seed.IDSQL(fmt.Sprintf(":row%d::bigint", i))
	}
	for user := range seed.Users {
		var all []string
		for some := range slices.Chunk(ids, int(max(1, p.Way.Rows))) {
			statements, err := p.Statements(seed.OwnerSQL(user), some)
			if err != nil {
				return "", err
			}
			all = append(all, statements...)
		}
		fmt.Fprintf(&s, "\\%s :user = %d\n%s\n", []string{"if", "elif"}[min(user, 1)], user, pipelined(all))
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
func steadyTime(dir string) (time.Duration, error) {
	var ends []time.Time
	if err := readLog(dir, func(end time.Time, _ int64) { ends = append(ends, end) }); err != nil {
		return 0, err
	}
	if len(ends) < 10 {
		return 0, fmt.Errorf("%w: it logged %d transactions", ErrNoRate, len(ends))
	}
	slices.SortFunc(ends, time.Time.Compare)
	first, last := len(ends)/10, len(ends)*9/10
	middle := ends[last].Sub(ends[first])
	return time.Duration(float64(middle) * float64(len(ends)) / float64(last-first)), nil
}

// readLog tells when each transaction ended, and how many microseconds it took.
func readLog(dir string, each func(end time.Time, took int64)) error {
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			var client, transaction, took, script, seconds, microseconds int64
			if _, err := fmt.Sscan(line, &client, &transaction, &took, &script, &seconds, &microseconds); err != nil {
				return fmt.Errorf("log of pgbench: %w", err)
			}
			each(time.Unix(seconds, microseconds*1000), took)
		}
	}
	return nil
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
		return load.Sample{}, fmt.Errorf("%w: %s", ErrNoRate, report)
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
