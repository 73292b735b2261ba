package systemtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/internal/pgtest"
	"fencepost/internal/servertest"
)

// rulesFile has the alerts, rulesTestFile their unit tests, and dashboardFile the dashboard.
const (
	rulesFile     = "../../deploy/prometheus/rules.yaml"
	rulesTestFile = "../../deploy/prometheus/rules_test.yaml"
	dashboardFile = "../../deploy/grafana/fencepost.json"
)

// program finds one of Prometheus's programs.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "run scripts/setup.sh prometheus, or install Prometheus")
	return path
}

func TestAlertsFireOnWhatTheyAreForAndOnNothingElse(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), program(t, "promtool"), "test", "rules", rulesTestFile).CombinedOutput()
	require.NoError(t, err, "%s", output)
}

func TestEveryAlertHasATestInWhichItFiresAndARowThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	alerts := named(t, rulesFile, `- alert: (\w+)`)
	require.NotEmpty(t, alerts)
	require.Equal(t, alerts, named(t, rulesTestFile, `ALERTS{alertname="(\w+)", alertstate="firing"`))
	require.Equal(t, alerts, named(t, "../../docs/operations.md", "(?m)^\\| `(Fencepost\\w+)` \\|"))
}

// named finds names in a file, each of them once.
func named(t *testing.T, path, pattern string) []string {
	t.Helper()
	var names []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, path), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// prometheus is a real one that scrapes processes every second.
type prometheus struct {
	t   *testing.T
	url string
}

var listeningOn = regexp.MustCompile(`msg="Listening on".* address=(\S+)`)

func startPrometheus(t *testing.T, processes ...*process) *prometheus {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(rulesFile)
	require.NoError(t, err)
	var targets []string
	for _, p := range processes {
		targets = append(targets, strings.TrimPrefix(p.Admin, "http://"))
	}
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: fencepost, static_configs: [{targets: [%s]}]}]
`, rules, strings.Join(targets, ", ")), 0o600))

	command := exec.CommandContext(t.Context(), program(t, "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	log, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewReader(log)
	address := listeningOn.FindStringSubmatch(readUntil(t, lines, listeningOn))[1]
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() { _ = command.Wait() })
	return &prometheus{t, "http://" + address}
}

// readUntil returns the first line that matches, and fails with all lines when there is none.
func readUntil(t *testing.T, lines *bufio.Reader, wanted *regexp.Regexp) string {
	t.Helper()
	var seen strings.Builder
	for {
		line, err := lines.ReadString('\n')
		seen.WriteString(line)
		require.NoError(t, err, "%s", seen.String())
		if wanted.MatchString(line) {
			return line
		}
	}
}

// get reads the data of an answer of Prometheus's API.
func (p *prometheus) get(path string, data any) {
	p.t.Helper()
	response, err := http.Get(p.url + path)
	require.NoError(p.t, err)
	defer response.Body.Close()
	require.NoError(p.t, json.NewDecoder(response.Body).Decode(&struct{ Data any }{data}))
}

// hasData reports whether a query has a result with a number in it.
func (p *prometheus) hasData(query string) bool {
	p.t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.get("/api/v1/query?query="+url.QueryEscape(query), &data)
	for _, r := range data.Result {
		if r.Value[1] != "NaN" {
			return true
		}
	}
	return false
}

// ruleHealth tells how the evaluation of each rule went.
func (p *prometheus) ruleHealth() map[string]string {
	p.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get("/api/v1/rules", &data)
	health := map[string]string{}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			health[r.Name] = r.Health + r.LastError
		}
	}
	return health
}

// dashboardQueries are the queries of the dashboard, over more time than the test takes.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dashboardFile)), &dashboard))
	var queries []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

// load makes one of each kind of traffic.
func load(t *testing.T, p *process, round int) {
	t.Helper()
	key := fmt.Sprintf("round-%d", round)
	job := p.Submit(t, key)
	p.Submit(t, key)
	call(t, http.MethodGet, job, "")
	call(t, http.MethodGet, p.API+"/api/etl/jobs/none", "")
	for _, query := range []string{`{jobs {nodes {id}}}`, `mutation {cancelJob(input: {jobRecordId: \"x\", idempotencyKey: \"k\"}) {__typename}}`} {
		call(t, http.MethodPost, p.API+"/graphql", `{"query": "`+query+`"}`)
	}
}

func TestEveryQueryOfTheDashboardAndTheRulesHasDataUnderLoad(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	first, second := serve(t, database, withoutWorkers), serve(t, database, withoutWorkers)
	worker := servertest.Work(t, database)
	p := startPrometheus(t, first, second, worker)

	missing, round := append(dashboardQueries(t), named(t, rulesFile, `(fencepost_\w+)`)...), 0
	missing = append(missing, "count(up == 1) == 3") // all three are scraped
	for deadline := time.Now().Add(patience); len(missing) > 0; round++ {
		require.True(t, time.Now().Before(deadline), "without data: %q", missing)
		load(t, first, 2*round)
		load(t, second, 2*round+1)
		missing = p.without(missing)
	}
	for rule, health := range p.ruleHealth() {
		require.Equal(t, "ok", health, rule)
	}
}

// without keeps the queries that have no data.
func (p *prometheus) without(queries []string) []string {
	var missing []string
	for _, query := range queries {
		if !p.hasData(query) {
			missing = append(missing, query)
		}
	}
	return missing
}
