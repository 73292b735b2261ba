package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/bench/internal/books"
)

// sheet is the balance of a run.
type sheet struct {
	log           *log
	outcomes      map[string]int
	rows          int
	faults        []string
	tables        []table
	before, after []vital
}

// table is the size of one table, and how much of it is dead or free.
type table struct {
	Name              string
	MiB, Dead, Free   float64
	Rows, IndexBlocks int64
}

const bloatSQL = `
SELECT relname, table_len / 1048576.0, dead_tuple_percent, free_percent, tuple_count, pg_indexes_size(oid) / 8192
FROM pg_class, pgstattuple(oid::regclass)
WHERE relname IN ('etl_job_records', 'processed_data', 'etl_idempotency_records') ORDER BY relname`

// balance audits the books and measures the tables.
func (w *world) balance(ctx context.Context, l *log) (s sheet, err error) {
	s = sheet{log: l, outcomes: map[string]int{}}
	err = w.query(ctx, func(conn *pgx.Conn) error {
		d, err := books.Read(ctx, conn)
		if err != nil {
			return err
		}
		for _, row := range d.Jobs {
			s.outcomes[row.Status]++
		}
		s.rows = len(d.Jobs)
		s.faults = append(books.Audit(d, l.acknowledged(), l.unanswered), l.broken...)
		s.tables, err = bloat(ctx, conn)
		return err
	})
	return s, err
}

func bloat(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	if _, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pgstattuple"); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, bloatSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[table])
}

// print writes the sheet for people.
func (s sheet) print(out io.Writer) error {
	to := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	s.printJobs(to)
	s.printCalls(to)
	fmt.Fprintln(to, "\nprocess\tstarts\tmemory MiB\tpeak MiB\tgoroutines\tconnections\tat the start")
	for i, v := range s.after {
		fmt.Fprintf(to, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f MiB, %.0f, %.0f\n", v.name, v.starts, v.memory, v.peak, v.goroutines,
			v.connections, s.before[i].memory, s.before[i].goroutines, s.before[i].connections)
	}
	fmt.Fprintln(to, "\ntable\trows\tMiB\tdead %\tfree %\tindex blocks")
	for _, t := range s.tables {
		fmt.Fprintf(to, "%s\t%d\t%.1f\t%.1f\t%.1f\t%d\n", t.Name, t.Rows, t.MiB, t.Dead, t.Free, t.IndexBlocks)
	}
	fmt.Fprintf(to, "\nfaults found in the books: %d\n", len(s.faults))
	for _, fault := range s.faults[:min(len(s.faults), 50)] {
		fmt.Fprintln(to, fault)
	}
	return to.Flush()
}

func (s sheet) printJobs(to io.Writer) {
	fmt.Fprintf(to, "\njobs acknowledged\t%d\njobs in the database\t%d\n", len(s.log.told), s.rows)
	for _, status := range []string{books.Succeeded, books.Failed, books.Cancelled, books.Pending, books.Running} {
		fmt.Fprintf(to, "%s\t%d\n", status, s.outcomes[status])
	}
	fmt.Fprintf(to, "calls given up by the client and repeated\t%d\nattempts repeated by the client package\t%d\nwrites without an answer\t%d\n",
		s.log.cut, s.log.retries, s.log.unanswered)
	for _, counts := range []map[string]int{s.log.faults, s.log.refusals} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(to, "%s\t%d\n", name, counts[name])
		}
	}
}

func (s sheet) printCalls(to io.Writer) {
	fmt.Fprintln(to, "\ncall, with its retries\tnumber\tp50 ms\tp99 ms\tp99.9 ms")
	for _, name := range slices.Sorted(maps.Keys(s.log.times)) {
		h := s.log.times[name]
		fmt.Fprintf(to, "%s\t%d\t%.1f\t%.1f\t%.1f\n", name, h.TotalCount(),
			milliseconds(h.ValueAtQuantile(50)), milliseconds(h.ValueAtQuantile(99)), milliseconds(h.ValueAtQuantile(99.9)))
	}
}

func milliseconds(microseconds int64) float64 { return float64(microseconds) / 1000 }

// vital is what a process tells about itself.
type vital struct {
	name                    string
	starts                  int
	memory, peak            float64 // MiB
	goroutines, connections float64
}

// vitals asks each process. One that does not answer shows as zeroes.
func (w *world) vitals(ctx context.Context) []vital {
	var all []vital
	for _, m := range w.members() {
		v := vital{name: m.name, starts: m.started()}
		if peak, err := m.current().PeakMemory(); err == nil {
			v.peak = float64(peak) / (1 << 20)
		}
		series, _ := scrape(ctx, "http://"+m.admin+"/metrics") // none is zeroes
		v.memory = series["process_resident_memory_bytes"] / (1 << 20)
		v.goroutines = series["go_goroutines"]
		v.connections = series[`fencepost_pool_connections{state="idle"}`] + series[`fencepost_pool_connections{state="acquired"}`]
		all = append(all, v)
	}
	return all
}

// scrape reads metrics in the text format.
func scrape(ctx context.Context, url string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	series := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var number float64
		if _, failed := fmt.Sscan(value, &number); failed == nil {
			series[name] = number
		}
	}
	return series, errors.Join(err, response.Body.Close())
}
