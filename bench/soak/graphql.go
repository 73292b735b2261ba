package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"fencepost/bench/internal/process"
	"fencepost/client"
)

const (
	listQuery   = `{jobs(first: 20) {nodes {id status lineage {statusCounts {count}}}}}`
	followQuery = `subscription {jobChanged(jobRecordId: %q) {id status}}`
	// followTime is how long a subscriber stays; most jobs end sooner.
	followTime = 5 * time.Second
)

// errNoAnswer is what a server says that cannot reach the database.
var errNoAnswer = errors.New("no answer at the moment")

// shown is a job as the queries above ask for it.
type shown struct {
	ID     uuid.UUID
	Status client.Status
}

// answer is what the queries above answer.
type answer struct {
	Data *struct {
		Jobs       struct{ Nodes []shown }
		JobChanged shown
	}
	Errors []struct {
		Extensions struct{ Code string }
	}
}

// post sends a document. The caller closes the body.
func (a *actor) post(ctx context.Context, document, accept string) (*http.Response, error) {
	body, err := json.Marshal(map[string]string{"query": document})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base()+"/graphql", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(a.user, process.Password)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	return a.http.Do(request)
}

// query reads a list with the lineage of each job. A server that is away, or that cannot reach the database, is no answer.
func (a *actor) query(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	response, err := a.post(ctx, listQuery, "application/json")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return a.look(text)
}

// look reads an answer or an event.
func (a *actor) look(text []byte) error {
	var got answer
	if err := json.Unmarshal(text, &got); err != nil {
		return err // cut in the middle
	}
	if len(got.Errors) > 0 {
		code := got.Errors[0].Extensions.Code
		if code != "UNAVAILABLE" && code != "TIMEOUT" {
			a.log.broke("a query was refused with " + code)
		}
		return errNoAnswer
	}
	for _, j := range append(got.Data.Jobs.Nodes, got.Data.JobChanged) {
		a.log.saw(j.ID, j.Status)
	}
	return nil
}

// follow subscribes to a job. The stream must not complete before the job has ended.
func (a *actor) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	response, err := a.post(ctx, fmt.Sprintf(followQuery, a.newest().id), "text/event-stream")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var last client.Status
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		data, isData := strings.CutPrefix(line, "data:")
		if isData && strings.TrimSpace(data) != "" {
			var event answer
			if err := a.look([]byte(data)); err != nil {
				return err
			}
			if json.Unmarshal([]byte(data), &event) == nil && event.Data != nil {
				last = event.Data.JobChanged.Status
			}
		}
		if strings.HasPrefix(line, "event:") && strings.Contains(line, "complete") && !last.Terminal() {
			a.log.broke(fmt.Sprintf("a subscription completed at %q", last))
		}
	}
	if ctx.Err() != nil {
		return nil // the subscriber has gone, as it meant to
	}
	return lines.Err()
}
