package rest_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config client.yaml openapi.yaml

// TestAClientGeneratedFromTheDocumentWorks submits, cancels, replays and reads with code that knows the document only.
func TestAClientGeneratedFromTheDocumentWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asAlice := func(_ context.Context, r *http.Request) error {
		r.SetBasicAuth("alice"+canary, password)
		return nil
	}
	c, err := NewClientWithResponses(w.server.URL, WithRequestEditorFn(asAlice))
	require.NoError(t, err)
	ctx, records := t.Context(), Batch{{Id: "alpha", AdditionalProperties: map[string]any{"amount": 1}}}

	submitted, err := c.SubmitJobWithResponse(ctx, &SubmitJobParams{IdempotencyKey: quoted(canary)}, records)
	require.NoError(t, err)
	require.NotNil(t, submitted.JSON202, string(submitted.Body))
	source := submitted.JSON202.JobRecordId
	require.Equal(t, submitted.JSON202.StatusUrl, submitted.HTTPResponse.Header.Get("Location"))

	active, err := c.ReplayJobWithResponse(ctx, source, &ReplayJobParams{IdempotencyKey: quoted(canary)}, records)
	require.NoError(t, err)
	require.Equal(t, ProblemCodeEtlJobReplaySourceActive, active.ApplicationproblemJSON409.ErrorCode)

	cancelled, err := c.CancelJobWithResponse(ctx, source, &CancelJobParams{IdempotencyKey: quoted(canary)}, CancelJobJSONRequestBody{})
	require.NoError(t, err)
	require.Equal(t, CANCELLED, cancelled.JSON200.JobStatus)
	require.NotNil(t, cancelled.JSON200.JobCancelledAt)

	again, err := c.CancelJobWithBodyWithResponse(ctx, source, &CancelJobParams{IdempotencyKey: quoted(canary)}, "", http.NoBody)
	require.NoError(t, err)
	require.True(t, again.Headers200.IdempotencyReplayed)

	replayed, err := c.ReplayJobWithResponse(ctx, source, &ReplayJobParams{IdempotencyKey: quoted(canary)}, records)
	require.NoError(t, err)
	require.Equal(t, source, *replayed.JSON202.ReplaySourceJobRecordId)
	require.Equal(t, 1, *replayed.JSON202.ReplayGenerationCount)

	got, err := c.GetJobWithResponse(ctx, replayed.JSON202.JobRecordId, nil)
	require.NoError(t, err)
	require.Equal(t, PENDING, got.JSON200.JobStatus)
	tag := got.Headers200.ETag
	unchanged, err := c.GetJobWithResponse(ctx, replayed.JSON202.JobRecordId, &GetJobParams{IfNoneMatch: &tag})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotModified, unchanged.StatusCode())

	status, replays := []JobStatus{CANCELLED, FAILED}, false
	list, err := c.ListJobsWithResponse(ctx, &ListJobsParams{Status: &status, Replay: &replays})
	require.NoError(t, err)
	require.Len(t, list.JSON200.Jobs, 1)
	lineage, err := c.GetLineageWithResponse(ctx, source, nil)
	require.NoError(t, err)
	require.Equal(t, 2, lineage.JSON200.GenerationCount)
	absent, err := c.GetLineageWithResponse(ctx, uuid.New(), nil)
	require.NoError(t, err)
	require.Equal(t, ProblemCodeEtlJobNotFound, absent.ApplicationproblemJSON404.ErrorCode)
}
