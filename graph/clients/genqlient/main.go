// Command genqlient tells the story of ../story.mjs through the Go client genqlient, whose types come from the schema.
//
//	go run . URL AUTHORIZATION
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/Khan/genqlient/graphql"
	"github.com/google/uuid"
)

//go:generate go tool genqlient

const (
	good = `[{"id":"a"},{"id":"b"}]`
	bad  = `[{"id":"refused"}]` // by the load statement of the test
)

func main() {
	if err := tell(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("genqlient has told the story")
}

// client is one user's way to the endpoint: fetches, and a WebSocket for subscriptions.
type client struct {
	graphql.Client
	socket graphql.WebSocketClient
}

func connect(url, authorization string) client {
	header := http.Header{"Authorization": {authorization}}
	return client{
		Client: graphql.NewClient(url, doer{header}),
		socket: graphql.NewClientUsingWebSocket(strings.Replace(url, "http", "ws", 1), dialer{},
			graphql.WithWebsocketHeader(header.Clone())),
	}
}

// tell does not close the socket: version 0.8.1 panics there when the server has completed a subscription.
func tell(ctx context.Context, url, authorization string) error {
	c := connect(url, authorization)
	if _, err := c.socket.Start(ctx); err != nil {
		return err
	}
	done, err := c.submit(ctx, good)
	if err != nil {
		return err
	}
	failed, err := c.submit(ctx, bad)
	if err != nil {
		return err
	}
	return errors.Join(
		c.follow(ctx, done, JobStatusSucceeded),
		c.follow(ctx, failed, JobStatusFailed),
		c.page(ctx, done, failed),
		c.cancel(ctx, done),
		c.replay(ctx, failed),
		stranger(ctx, url),
	)
}

func (c client) submit(ctx context.Context, payload string) (string, error) {
	answer, err := Submit(ctx, c, SubmitJobInput{RequestPayload: payload, IdempotencyKey: uuid.NewString()})
	if err != nil {
		return "", err
	}
	success, ok := answer.SubmitJob.(*SubmitSubmitJobSubmitJobSuccess)
	if !ok || success.Job.CreatedAt.IsZero() {
		return "", fmt.Errorf("submit: %+v", answer.SubmitJob)
	}
	return success.Job.Id, nil
}

// follow waits for the last state of a job.
func (c client) follow(ctx context.Context, id string, want JobStatus) error {
	changes, _, err := JobChanged(ctx, c.socket, id)
	if err != nil {
		return err
	}
	var last JobStatus
	for change := range changes {
		last = change.Data.JobChanged.Status
	}
	if last != want {
		return fmt.Errorf("follow: %s", last)
	}
	return nil
}

func (c client) page(ctx context.Context, ids ...string) error {
	seen := map[string]int{}
	for after, more := "", true; more; {
		answer, err := Jobs(ctx, c, after)
		if err != nil {
			return err
		}
		for _, node := range answer.Jobs.Nodes {
			seen[node.Id]++
		}
		after, more = answer.Jobs.PageInfo.EndCursor, answer.Jobs.PageInfo.HasNextPage
	}
	for _, id := range ids {
		if seen[id] != 1 {
			return fmt.Errorf("page: %v", seen)
		}
	}
	return nil
}

func (c client) cancel(ctx context.Context, id string) error {
	answer, err := Cancel(ctx, c, CancelJobInput{JobRecordId: id, IdempotencyKey: uuid.NewString()})
	if err != nil {
		return err
	}
	refused, ok := answer.CancelJob.(*CancelCancelJobProblem)
	if !ok || refused.Code != ProblemCodeEtlJobAlreadySucceeded || refused.Status != 409 || refused.RelatedJob.Id != id {
		return fmt.Errorf("cancel: %+v", answer.CancelJob)
	}
	return nil
}

// replay makes a replay of a failed job, which fails in its turn, and reads their lineage.
func (c client) replay(ctx context.Context, id string) error {
	answer, err := Replay(ctx, c, ReplayJobInput{SourceJobRecordId: id, RequestPayload: bad, IdempotencyKey: uuid.NewString()})
	if err != nil {
		return err
	}
	success, ok := answer.ReplayJob.(*ReplayReplayJobReplayJobSuccess)
	if !ok || success.Job.ReplayGeneration != 1 || success.Job.ReplaySource.Id != id {
		return fmt.Errorf("replay: %+v", answer.ReplayJob)
	}
	changes, _, err := LineageChanged(ctx, c.socket, id)
	if err != nil {
		return err
	}
	var last LineageChangedLineageChangedLineage
	for change := range changes {
		last = change.Data.LineageChanged
	}
	lineage, err := Lineage(ctx, c, success.Job.Id)
	if err != nil {
		return err
	}
	if last.JobCount != 2 || lineage.Lineage.Root.Id != id || lineage.Lineage.Edges[0].Derived.Id != success.Job.Id {
		return fmt.Errorf("lineage: %+v, %+v", last, lineage)
	}
	return c.read(ctx, success.Job.Id)
}

func (c client) read(ctx context.Context, id string) error {
	answer, err := Node(ctx, c, id)
	if err != nil {
		return err
	}
	if j, ok := answer.Node.(*NodeNodeJob); !ok || j.Status != JobStatusFailed || j.FailureCode != "etl_target_failure" {
		return fmt.Errorf("read: %+v", answer.Node)
	}
	return nil
}

func stranger(ctx context.Context, url string) error {
	_, err := Jobs(ctx, connect(url, "Basic "), "")
	refused, ok := errors.AsType[*graphql.HTTPError](err)
	if !ok || refused.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("stranger: %w", err)
	}
	return nil
}
