// Command generatedclient submits, cancels, replays and reads with code that is generated from the OpenAPI document and knows nothing else.
// The first argument is where the server is, and the others are who calls it.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/google/uuid"
)

//go:generate go tool oapi-codegen -config client.yaml ../openapi.yaml

func main() {
	server, user, password := os.Args[1], os.Args[2], os.Args[3]
	c, err := NewClientWithResponses(server, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.SetBasicAuth(user, password)
		return nil
	}))
	answered(err)
	tell(context.Background(), c)
	fmt.Println("the generated client has told the story")
}

func tell(ctx context.Context, c *ClientWithResponses) {
	records := Batch{{Id: "alpha", AdditionalProperties: map[string]any{"amount": 1}}}
	submitted, err := c.SubmitJobWithResponse(ctx, &SubmitJobParams{IdempotencyKey: `"submit"`}, records)
	answered(err)
	require(submitted.JSON202 != nil, "a submission is accepted")
	source := submitted.JSON202.JobRecordId
	require(submitted.JSON202.StatusUrl == submitted.HTTPResponse.Header.Get("Location"), "the job is where Location says")

	active, err := c.ReplayJobWithResponse(ctx, source, &ReplayJobParams{IdempotencyKey: `"replay"`}, records)
	answered(err)
	require(active.ApplicationproblemJSON409.ErrorCode == ProblemCodeEtlJobReplaySourceActive, "an active job is not replayed")

	cancelled, err := c.CancelJobWithResponse(ctx, source, &CancelJobParams{IdempotencyKey: `"cancel"`}, CancelJobJSONRequestBody{})
	answered(err)
	require(cancelled.JSON200.JobStatus == CANCELLED && cancelled.JSON200.JobCancelledAt != nil, "the job is cancelled")
	again, err := c.CancelJobWithBodyWithResponse(ctx, source, &CancelJobParams{IdempotencyKey: `"cancel"`}, "", http.NoBody)
	answered(err)
	require(again.Headers200.IdempotencyReplayed, "the same key finds the cancellation")

	replayed, err := c.ReplayJobWithResponse(ctx, source, &ReplayJobParams{IdempotencyKey: `"replay"`}, records)
	answered(err)
	require(*replayed.JSON202.ReplaySourceJobRecordId == source && *replayed.JSON202.ReplayGenerationCount == 1, "a replay names its source")
	read(ctx, c, source, replayed.JSON202.JobRecordId)
}

func read(ctx context.Context, c *ClientWithResponses, source, replay uuid.UUID) {
	got, err := c.GetJobWithResponse(ctx, replay, nil)
	answered(err)
	require(got.JSON200.JobStatus == PENDING, "the replay waits")
	tag := got.Headers200.ETag
	unchanged, err := c.GetJobWithResponse(ctx, replay, &GetJobParams{IfNoneMatch: &tag})
	answered(err)
	require(unchanged.StatusCode() == http.StatusNotModified, "its entity tag is known")

	status, replays := []JobStatus{CANCELLED, FAILED}, false
	list, err := c.ListJobsWithResponse(ctx, &ListJobsParams{Status: &status, Replay: &replays})
	answered(err)
	require(len(list.JSON200.Jobs) == 1, "a filtered list has the source")
	lineage, err := c.GetLineageWithResponse(ctx, source, nil)
	answered(err)
	require(lineage.JSON200.GenerationCount == 2, "the lineage has both")
	absent, err := c.GetLineageWithResponse(ctx, uuid.New(), nil)
	answered(err)
	require(absent.ApplicationproblemJSON404.ErrorCode == ProblemCodeEtlJobNotFound, "an absent job has no lineage")
}

func answered(err error) { require(err == nil, fmt.Sprint("an answer: ", err)) }

func require(held bool, what string) {
	if !held {
		fmt.Fprintln(os.Stderr, "not so:", what)
		os.Exit(1)
	}
}
