// Package target holds the ways to do an operation: over HTTP, by the database alone, and by a worker.
package target

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"

	"fencepost/bench/internal/answer"
	"fencepost/bench/internal/compare"
	"fencepost/bench/internal/load"
	"fencepost/bench/internal/process"
	"fencepost/bench/internal/seed"
)

// Request is one HTTP request. Its answer must have a status of 200 to 202, hold Want, and not hold "errors", the member
// that only a GraphQL answer without its data has.
type Request struct {
	User                int // the number of the user it is made by
	Method, Path        string
	Header, HeaderValue string // one more header field, if any
	Body                string
	Want                string
}

// HTTP is a target that is asked over HTTP on connections that stay open.
type HTTP struct {
	Label   string
	Address string
	// Request makes a request for the row with a number, which only matters to writes.
	Request func(row int64) Request
	// Fuel makes the rows that writes use up; nil for reads.
	Fuel func(ctx context.Context, ops int64) (first int64, err error)

	next int64
}

var _ compare.Paced = (*HTTP)(nil)

// Name implements compare.Target.
func (h *HTTP) Name() string { return h.Label }

// Prepare implements compare.Target. It also lets every user sign in: the first request of each costs a bcrypt check, which
// is then remembered.
func (h *HTTP) Prepare(ctx context.Context, ops int64) (err error) {
	if h.Fuel != nil {
		h.next, err = h.Fuel(ctx, ops)
	}
	return errors.Join(err, SignIn(h.Address))
}

// SignIn makes a request as each user.
func SignIn(address string) error {
	connection := &fasthttp.HostClient{Addr: address}
	var request fasthttp.Request
	var response fasthttp.Response
	for _, authorization := range authorizations {
		request.SetRequestURI("/api/etl/jobs?limit=1")
		request.Header.SetHost(address)
		request.Header.Set("Authorization", authorization)
		if err := connection.DoTimeout(&request, &response, timeout); err != nil {
			return err
		}
	}
	return nil
}

// Run implements compare.Target.
func (h *HTTP) Run(ctx context.Context, b load.Bound) (load.Sample, error) {
	first := h.take(b)
	return load.Closed(ctx, load.Clients, b, h.caller(load.Clients, first)), nil
}

// pacedClients is enough that a call hardly ever waits for another one's client.
const pacedClients = 4 * load.Clients

// RunAt implements compare.Paced.
func (h *HTTP) RunAt(ctx context.Context, rate float64, b load.Bound) (compare.Latency, error) {
	first := h.take(b)
	sample, histogram := load.Open(ctx, pacedClients, rate, b, h.caller(pacedClients, first))
	return latencyOf(rate, sample, histogram), nil
}

func (h *HTTP) take(b load.Bound) (first int64) {
	first = h.next
	h.next += b.Ops
	return first
}

// latencyOf is a histogram of microseconds in the report's terms.
func latencyOf(rate float64, s load.Sample, h *hdrhistogram.Histogram) compare.Latency {
	return compare.Latency{
		Rate: rate, P50: h.ValueAtQuantile(50), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max(),
		NumberOfCalls: h.TotalCount(), ErrorsOrMiss: s.Errors + s.Misses,
	}
}

// Answer makes one request and returns what came back, down to its header fields.
func (h *HTTP) Answer(ctx context.Context) (answer.Answer, error) {
	if err := h.Prepare(ctx, 1); err != nil {
		return answer.Answer{}, err
	}
	var request fasthttp.Request
	var response fasthttp.Response
	want := h.fill(&request, h.take(load.Bound{Ops: 1}))
	if err := (&fasthttp.HostClient{Addr: h.Address}).DoTimeout(&request, &response, timeout); err != nil {
		return answer.Answer{}, err
	}
	a := answer.Answer{Status: response.StatusCode(), Header: http.Header{}, Body: response.Body()}
	for name, value := range response.Header.All() {
		a.Header.Add(string(name), string(value))
	}
	return a, check(&response, want)
}

const timeout = 30 * time.Second

// caller gives each client a request and a response to use again and again.
func (h *HTTP) caller(clients int, first int64) load.Call {
	connection := &fasthttp.HostClient{Addr: h.Address, MaxConns: clients, ReadTimeout: timeout, MaxIdleConnDuration: timeout}
	requests, responses := make([]fasthttp.Request, clients), make([]fasthttp.Response, clients)
	return func(client int, number int64) error {
		want := h.fill(&requests[client], first+number)
		if err := connection.Do(&requests[client], &responses[client]); err != nil {
			return err
		}
		return check(&responses[client], want)
	}
}

func (h *HTTP) fill(to *fasthttp.Request, row int64) (want string) {
	r := h.Request(row)
	to.Reset()
	to.Header.SetMethod(r.Method)
	to.Header.SetHost(h.Address)
	to.SetRequestURI(r.Path)
	to.Header.Set("Authorization", authorizations[r.User])
	if r.Header != "" {
		to.Header.Set(r.Header, r.HeaderValue)
	}
	if r.Body != "" {
		to.Header.SetContentType("application/json")
		to.SetBodyString(r.Body)
	}
	return r.Want
}

var graphqlErrors = []byte(`"errors":`)

func check(response *fasthttp.Response, want string) error {
	status, body := response.StatusCode(), response.Body()
	if status < 200 || status > 202 || bytes.Contains(body, graphqlErrors) {
		return fmt.Errorf("status %d: %.300s", status, body)
	}
	if !bytes.Contains(body, []byte(want)) {
		return fmt.Errorf("%w: no %s in %.300s", load.ErrMiss, want, body)
	}
	return nil
}

// authorizations are the users' credentials as header fields.
var authorizations = func() []string {
	fields := make([]string, seed.Users)
	for i := range fields {
		credential := seed.UserName(i) + ":" + process.Password
		fields[i] = "Basic " + base64.StdEncoding.EncodeToString([]byte(credential))
	}
	return fields
}()

// GraphQL makes a POST of a document with variables.
func GraphQL(user int, document, variables, want string) Request {
	return Request{
		User: user, Method: fasthttp.MethodPost, Path: "/graphql", Want: want,
		Body: `{"query":` + quote(document) + `,"variables":` + variables + `}`,
	}
}

// quote writes a JSON string, with the document's white space made short as build tools for clients do.
func quote(document string) string {
	text, err := json.Marshal(strings.Join(strings.Fields(document), " "))
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}
