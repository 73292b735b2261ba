package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

func TestSubmittingKeepsThePayloadByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := []byte("[ {\"id\":\"alpha\",\t\"n\":1.0} ]\n")
	accepted, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), text)
	require.NoError(t, err)
	require.Equal(t, job.StatusPending, accepted.Job.Status)
	require.Equal(t, 1, accepted.Job.RecordCount)
	require.Nil(t, accepted.Job.Derivation)
	require.Equal(t, 1, w.count("etl_job_records WHERE request_payload = $1 AND request_digest = sha256($1)", text))
}

func TestSubmissionKeyStandsForOwnerAndBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)

	again, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)
	require.Equal(t, job.Accepted{Job: first.Job, Replayed: true}, again)

	_, err = w.service.Submit(t.Context(), w.owner, key(t, "k"), []byte(`[]`))
	require.Equal(t, first.Job, *requireProblem(t, job.CodeSubmissionKeyReused, err).Job)

	foreign, err := w.service.Submit(t.Context(), job.OwnerOf("owner b"), key(t, "k"), batch)
	require.NoError(t, err)
	require.False(t, foreign.Replayed)
	require.Equal(t, map[int]int{0: 2}, w.counter.created)
	require.Equal(t, map[job.Operation]int{job.OperationSubmit: 1}, w.counter.replayed)
}

func TestSubmissionIsRefusedInTheContractsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tooLarge := make([]byte, w.service.Limits().MaxPayloadBytes+1)
	for _, c := range []struct {
		code job.Code
		key  job.Key
		text []byte
	}{
		{job.CodePayloadTooLarge, job.Key{}, tooLarge},
		{job.CodeSubmissionKeyRequired, job.Key{}, []byte(`{`)},
		{job.CodeInvalidJSON, key(t, "k"), []byte(`{`)},
	} {
		_, err := w.service.Submit(t.Context(), w.owner, c.key, c.text)
		requireProblem(t, c.code, err)
	}
	require.Zero(t, w.count("etl_job_records"))
}

func TestReplayedSubmissionReturnsTheCurrentState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)
	require.NoError(t, w.store.Execute(t.Context(), w.claim()))
	again, err := w.service.Submit(t.Context(), w.owner, key(t, "k"), batch)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, job.StatusSucceeded, again.Job.Status)
}
