package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// httpCase is a numbered case of the table: requests that are sent in order, as bytes over a socket.
type httpCase struct {
	number    int
	name      string
	options   []func(*setup) // for a server of its own; nil takes the one that the cases share
	exchanges []exchange
}

// exchange is a request and how it must be answered. Its texts may name what earlier answers of the case told (see learn), and
// {each}, for which its variants stand one after the other.
type exchange struct {
	before func(*world) // what happens first
	send   string       // method and target
	lines  []string     // of the header, as written by text
	body   string
	each   []string
	status int      // of an answer that is no problem
	code   job.Code // of one that is
	answer []string // lines that its header must have; "Name:" is one that must not be there
	check  func(t testing.TB, earlier, a answer)
}

// alone are the options of a case that wants a server of its own, and nothing else.
var alone = []func(*setup){}

func (c httpCase) run(t *testing.T, shared *world) {
	t.Helper()
	w := *shared
	w.TB = t
	if c.options != nil {
		w = *newWorld(t, c.options...)
	}
	known, earlier := map[string]string{}, answer{}
	for _, e := range c.exchanges {
		for _, e := range e.variants() {
			earlier = e.run(&w, c.number, known, earlier)
		}
	}
}

func (e exchange) variants() []exchange {
	if e.each == nil {
		return []exchange{e}
	}
	var variants []exchange
	for _, value := range e.each {
		variants = append(variants, e.fill("{each}", value))
	}
	return variants
}

// fill puts a value in the place of its name.
func (e exchange) fill(name, value string) exchange {
	fill := func(text string) string { return strings.ReplaceAll(text, name, value) }
	fillAll := func(lines []string) []string {
		filled := []string{}
		for _, line := range lines {
			filled = append(filled, fill(line))
		}
		return filled
	}
	e.send, e.body, e.lines, e.answer = fill(e.send), fill(e.body), fillAll(e.lines), fillAll(e.answer)
	return e
}

func (e exchange) run(w *world, number int, known map[string]string, earlier answer) answer {
	w.Helper()
	for name, value := range known {
		e = e.fill(name, value)
	}
	if e.before != nil {
		e.before(w)
	}
	w.Logf("%s %q", e.send, e.lines) // which one it was that failed
	a := w.raw(e.text(number))
	if e.code != "" {
		a.refused(e.code)
	} else {
		a.require(e.status)
	}
	for _, line := range e.answer {
		name, value, _ := strings.Cut(line, ":")
		require.Equal(w, strings.TrimSpace(value), a.header.Get(name), name)
	}
	if e.check != nil {
		e.check(w, earlier, a)
	}
	learn(known, a)
	return a
}

// text is the request as it is sent. It is alice's, and a POST brings JSON under a key of its case, unless it has lines of those
// names; "Name:" leaves the line out.
func (e exchange) text(number int) string {
	usual := []string{"Host: localhost", basic("alice"), fmt.Sprintf("Content-Length: %d", len(e.body))}
	if strings.HasPrefix(e.send, http.MethodPost) {
		usual = append(usual, "Content-Type: application/json", fmt.Sprintf(`Idempotency-Key: "%s %d"`, canary, number))
	}
	lines := slices.Clone(e.lines)
	for _, line := range usual {
		name, _, _ := strings.Cut(line, ":")
		if !slices.ContainsFunc(e.lines, func(own string) bool { return strings.HasPrefix(own, name+":") }) {
			lines = append(lines, line)
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Index(line, ":") == len(line)-1 })
	return e.send + " HTTP/1.1\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + e.body
}

// learn keeps what an answer tells, by the names that later requests have for it.
func learn(known map[string]string, a answer) {
	if job := a.header.Get("Location"); job != "" {
		id := idIn(job)
		known["{job}"], known["{id}"], known["{ID}"], known["{hex}"] = job, id, strings.ToUpper(id), strings.ReplaceAll(id, "-", "")
	}
	if tag := a.header.Get("ETag"); tag != "" {
		known["{tag}"], known["{opaque}"] = tag, strings.TrimPrefix(tag, "W/")
	}
	if a.header.Get("Link") != "" {
		known["{next}"] = a.next()
	}
}

// sameJob checks that a repeated write was answered as the first one, but for the mark of a replay.
func sameJob(t testing.TB, earlier, a answer) {
	t.Helper()
	require.Equal(t, "true", a.header.Get("Idempotency-Replayed"))
	require.Equal(t, earlier.header.Get("Location"), a.header.Get("Location"))
	require.Equal(t, earlier.body, a.body)
}

// anotherJob checks that a write has nothing to do with the one before it.
func anotherJob(t testing.TB, earlier, a answer) {
	t.Helper()
	require.Equal(t, "false", a.header.Get("Idempotency-Replayed"))
	require.NotEqual(t, earlier.header.Get("Location"), a.header.Get("Location"))
}

// headOf checks that the answer to HEAD is the one to GET without its body.
func headOf(t testing.TB, get, head answer) {
	t.Helper()
	require.Empty(t, head.body)
	get.header.Del("Date")
	head.header.Del("Date")
	require.Equal(t, get.header, head.header)
}

// ofJobs checks how many jobs a page has.
func ofJobs(n int) func(testing.TB, answer, answer) {
	return func(t testing.TB, _, a answer) {
		t.Helper()
		require.Len(t, a.ids(), n)
	}
}

func withoutBody(t testing.TB, _, a answer) {
	t.Helper()
	require.Empty(t, a.body)
}
