package systemtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
)

// provocation is how one problem code is met. The same steps lead to it through either facade.
type provocation struct {
	steps func(*scene, facade) answer
	// graphql is what GraphQL says to the like of it, where that is not a Problem with the code.
	graphql refusal
	// in is where it happens, if that is not the scene which all share.
	in func(*testing.T) *scene
}

var provocations = map[job.Code]provocation{
	job.CodeInvalidJSON: {steps: func(_ *scene, f facade) answer { return f.submit("["+mark, "key") }},
	job.CodeInvalidIdempotencyKey: {steps: func(_ *scene, f facade) answer {
		return f.submit(smallBatch, strings.Repeat("k", 256))
	}},
	job.CodeSubmissionKeyRequired:   {steps: func(_ *scene, f facade) answer { return f.submit(smallBatch, "") }},
	job.CodeCancellationKeyRequired: {steps: func(s *scene, f facade) answer { return f.cancel(s.pending(), "") }},
	job.CodeReplayKeyRequired:       {steps: func(s *scene, f facade) answer { return f.replay(s.cancelled(), smallBatch, "") }},
	job.CodeInvalidPageRequest: {
		steps:   func(_ *scene, f facade) answer { return f.list(mark) },
		graphql: refusal{Status: http.StatusOK, ErrorCode: "BAD_USER_INPUT"},
	},
	job.CodeAuthenticationRequired: {
		steps:   func(s *scene, f facade) answer { return s.call(http.MethodGet, f.path(), "", "Authorization", "") },
		graphql: refusal{Status: http.StatusUnauthorized, ErrorCode: "UNAUTHENTICATED"},
	},
	job.CodeJobNotFound: {steps: func(_ *scene, f facade) answer { return f.cancel(uuid.NewString(), "key") }},
	// A path beside GraphQL's is answered by REST, as every unknown one is.
	job.CodeRouteNotFound: {steps: func(s *scene, f facade) answer {
		return s.call(http.MethodGet, f.path()+"/no/"+mark, "")
	}},
	job.CodeMethodNotAllowed: {
		steps:   func(s *scene, f facade) answer { return s.call(http.MethodDelete, f.path(), "") },
		graphql: refusal{Status: http.StatusMethodNotAllowed, ErrorCode: "METHOD_NOT_ALLOWED"},
	},
	job.CodeNotAcceptable: {
		steps:   func(s *scene, f facade) answer { return s.call(http.MethodGet, f.path(), "", "Accept", "text/html") },
		graphql: refusal{Status: http.StatusNotAcceptable, ErrorCode: "NOT_ACCEPTABLE"},
	},
	job.CodeSubmissionInProgress: {steps: func(s *scene, f facade) answer {
		key := uuid.NewString()
		s.hold("DELETE FROM etl_job_records WHERE job_record_id = $1", s.submitted(key))
		return f.submit(smallBatch, key)
	}},
	job.CodeCancellationInProgress: {steps: func(s *scene, f facade) answer {
		id := s.pending()
		s.hold("SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", id)
		return f.cancel(id, "key")
	}},
	job.CodeReplayInProgress: {steps: func(s *scene, f facade) answer {
		id := s.cancelled()
		s.hold("SELECT FROM etl_job_records WHERE job_record_id = $1 FOR UPDATE", id)
		return f.replay(id, smallBatch, uuid.NewString())
	}},
	job.CodeAlreadySucceeded: {steps: func(s *scene, f facade) answer { return f.cancel(s.succeeded(), "key") }},
	job.CodeAlreadyFailed:    {steps: func(s *scene, f facade) answer { return f.cancel(s.failed(), "key") }},
	job.CodeReplaySourceActive: {steps: func(s *scene, f facade) answer {
		return f.replay(s.pending(), smallBatch, uuid.NewString())
	}},
	job.CodeReplaySourceSucceeded: {steps: func(s *scene, f facade) answer {
		return f.replay(s.succeeded(), smallBatch, uuid.NewString())
	}},
	job.CodeReplayGenerationExhausted: {steps: func(s *scene, f facade) answer {
		return f.replay(s.lastGeneration(), smallBatch, uuid.NewString())
	}},
	job.CodePayloadTooLarge: {steps: func(_ *scene, f facade) answer {
		return f.submit("["+strings.Repeat(" ", mostBytes)+"]", "key")
	}},
	job.CodeBatchTooLarge: {steps: func(_ *scene, f facade) answer {
		return f.submit("["+strings.Repeat(`{"id":"a"},`, mostRecords)+`{"id":"a"}]`, "key")
	}},
	job.CodeUnsupportedMediaType: {
		steps: func(s *scene, f facade) answer {
			return s.call(http.MethodPost, f.path(), smallBatch, "Content-Type", "text/plain")
		},
		graphql: refusal{Status: http.StatusUnsupportedMediaType, ErrorCode: "UNSUPPORTED_MEDIA_TYPE"},
	},
	job.CodeInvalidRecord:             {steps: func(_ *scene, f facade) answer { return f.submit(`[{"name":"canary"}]`, "key") }},
	job.CodeInvalidCancellationReason: {steps: func(s *scene, f facade) answer { return f.cancelFor(mark, s.pending(), "key") }},
	job.CodeSubmissionKeyReused: {steps: func(s *scene, f facade) answer {
		key := uuid.NewString()
		s.submitted(key)
		return f.submit(smallBatch+" ", key)
	}},
	job.CodeCancellationKeyReused: {steps: func(s *scene, f facade) answer { return f.cancel(s.cancelled(), "another key") }},
	job.CodeReplayKeyReused: {steps: func(s *scene, f facade) answer {
		key := uuid.NewString()
		s.replayed(s.cancelled(), key)
		return f.replay(s.cancelled(), smallBatch, key)
	}},
	job.CodeReplayPayloadMismatch: {steps: func(s *scene, f facade) answer {
		return f.replay(s.cancelled(), smallBatch+" ", uuid.NewString())
	}},
	job.CodeRateLimited: {in: limitedScene, steps: func(_ *scene, f facade) answer { return f.submit(smallBatch, "key") }},
	job.CodeInternalError: {
		in: brokenScene, steps: func(_ *scene, f facade) answer { return f.submit(smallBatch, "key") },
		graphql: refusal{Status: http.StatusOK, ErrorCode: "INTERNAL"},
	},
	job.CodeDatabaseUnavailable: {in: crashedScene, steps: func(_ *scene, f facade) answer { return f.submit(smallBatch, "key") }},
}

// TestEveryProblemCodeIsToldByBothFacades walks the whole table of problems. Nothing secret leaves on the way.
//
//nolint:paralleltest,tparallel // the rows share a server, and one would claim the jobs of another
func TestEveryProblemCodeIsToldByBothFacades(t *testing.T) {
	t.Parallel()
	require.Len(t, provocations, len(job.Definitions()))
	shared := newScene(t)
	for _, definition := range job.Definitions() {
		row, found := provocations[definition.Code]
		require.True(t, found, definition.Code)
		t.Run(string(definition.Code), func(t *testing.T) {
			s := shared.within(t)
			if row.in != nil {
				s = row.in(t)
				defer s.end()
			}
			problem := refusal{definition.Type(), definition.Status, string(definition.Code), definition.Title, definition.Detail}
			require.Equal(t, problem, refusalIn(t, row.steps(s, restFacade{s})))
			if row.graphql != (refusal{}) {
				problem = row.graphql
			}
			require.Equal(t, problem, refusalIn(t, row.steps(s, graphqlFacade{s})))
		})
	}
	shared.end()
}
