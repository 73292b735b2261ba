package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheProblemTableIsTheContracts repeats the table of contract section 3 in its order.
func TestTheProblemTableIsTheContracts(t *testing.T) {
	t.Parallel()
	table := []struct {
		status int
		code   Code
	}{
		{400, "etl_invalid_json"},
		{400, "etl_invalid_idempotency_key"},
		{400, "etl_job_submission_key_required"},
		{400, "etl_job_cancellation_key_required"},
		{400, "etl_job_replay_key_required"},
		{400, "etl_invalid_page_request"},
		{401, "etl_authentication_required"},
		{404, "etl_job_not_found"},
		{404, "etl_route_not_found"},
		{405, "etl_method_not_allowed"},
		{406, "etl_not_acceptable"},
		{409, "etl_job_submission_in_progress"},
		{409, "etl_job_cancellation_in_progress"},
		{409, "etl_job_replay_in_progress"},
		{409, "etl_job_already_succeeded"},
		{409, "etl_job_already_failed"},
		{409, "etl_job_replay_source_active"},
		{409, "etl_job_replay_source_succeeded"},
		{409, "etl_job_replay_generation_exhausted"},
		{413, "etl_payload_too_large"},
		{413, "etl_batch_too_large"},
		{415, "etl_unsupported_media_type"},
		{422, "etl_invalid_record"},
		{422, "etl_invalid_cancellation_reason"},
		{422, "etl_job_submission_key_reused"},
		{422, "etl_job_cancellation_key_reused"},
		{422, "etl_job_replay_key_reused"},
		{422, "etl_job_replay_payload_mismatch"},
		{429, "etl_rate_limited"},
		{500, "etl_internal_error"},
		{503, "etl_database_unavailable"},
	}
	definitions := Definitions()
	assert.Len(t, definitions, len(table))
	for i, row := range table {
		assert.Equal(t, row.code, definitions[i].Code)
		assert.Equal(t, row.status, definitions[i].Status, row.code)
		assert.Equal(t, definitions[i], row.code.Define())
	}
}

func TestEveryProblemHasItsOwnTexts(t *testing.T) {
	t.Parallel()
	titles, details := map[string]bool{}, map[string]bool{}
	for _, d := range Definitions() {
		assert.Equal(t, "urn:fencepost:problem:"+strings.ReplaceAll(string(d.Code), "_", "-"), d.Type())
		assert.NotEmpty(t, d.Title)
		assert.True(t, strings.HasSuffix(d.Detail, "."), d.Code)
		titles[d.Title], details[d.Detail] = true, true
	}
	assert.Len(t, titles, len(Definitions()))
	assert.Len(t, details, len(Definitions()))
}

func TestDefinitionsCannotBeChangedByTheirReader(t *testing.T) {
	t.Parallel()
	Definitions()[0].Title = "changed"
	assert.NotEqual(t, "changed", Definitions()[0].Title)
}

func TestAProblemsErrorTextIsItsCodeAlone(t *testing.T) {
	t.Parallel()
	problem := &Problem{Code: CodeJobNotFound, Job: &Job{ID: newID()}}
	assert.EqualError(t, problem, "etl_job_not_found")
}
