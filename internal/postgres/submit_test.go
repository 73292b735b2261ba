package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/postgres/storetest"
)

func TestSubmittingKeepsThePayloadByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := []byte("[ {\"id\":\"alpha\",\t\"n\":1.0} ]\n")
	accepted, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), text)
	require.NoError(t, err)
	require.Equal(t, job.StatusPending, accepted.Job.Status)
	require.Equal(t, 1, accepted.Job.RecordCount)
	require.Nil(t, accepted.Job.Derivation)
	require.Equal(t, 1, w.Count("etl_job_records WHERE request_payload = $1 AND request_digest = sha256($1)", text))
}

func TestSubmissionKeyStandsForOwnerAndBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)

	again, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	require.Equal(t, job.Accepted{Job: first.Job, Replayed: true}, again)

	_, err = w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), []byte(`[]`))
	require.Equal(t, first.Job, *storetest.RequireProblem(t, job.CodeSubmissionKeyReused, err).Job)

	foreign, err := w.Service.Submit(t.Context(), job.OwnerOf("owner b"), storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	require.False(t, foreign.Replayed)
	require.Equal(t, map[int]int{0: 2}, w.Counter.Created)
	require.Equal(t, map[job.Operation]int{job.OperationSubmit: 1}, w.Counter.Replayed)
}

func TestSubmissionIsRefusedInTheContractsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tooLarge := make([]byte, w.Service.Limits().MaxPayloadBytes+1)
	for _, c := range []struct {
		code job.Code
		key  job.Key
		text []byte
	}{
		{job.CodePayloadTooLarge, job.Key{}, tooLarge},
		{job.CodeSubmissionKeyRequired, job.Key{}, []byte(`{`)},
		{job.CodeInvalidJSON, storetest.Key(t, "k"), []byte(`{`)},
	} {
		_, err := w.Service.Submit(t.Context(), w.Owner, c.key, c.text)
		storetest.RequireProblem(t, c.code, err)
	}
	require.Zero(t, w.Count("etl_job_records"))
}

func TestReplayedSubmissionReturnsTheCurrentState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	require.NoError(t, w.Store.Execute(t.Context(), w.Claim()))
	again, err := w.Service.Submit(t.Context(), w.Owner, storetest.Key(t, "k"), storetest.Batch)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, job.StatusSucceeded, again.Job.Status)
}
