package rest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/ratelimit"
)

// TestEveryProblemCode provokes each row of the contract's table of problems, at every operation that can meet it.
func TestEveryProblemCode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		code    job.Code
		options []func(*setup)
		provoke func(*world) answer
		fields  map[string]string // that the answer must carry
	}{
		{name: "submission that is no array", code: job.CodeInvalidJSON, provoke: func(w *world) answer {
			return w.submit(`{"id":"a"}`, `"canary"`)
		}},
		{name: "replay that is no array", code: job.CodeInvalidJSON, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), `[`, `"canary"`)
		}},
		{name: "cancellation with a body that says something", code: job.CodeInvalidJSON, provoke: func(w *world) answer {
			return w.post(w.pending()+"/cancellation", `{"reason":"none"}`, `"canary"`)
		}},
		{name: "malformed submission key", code: job.CodeInvalidIdempotencyKey, provoke: func(w *world) answer {
			return w.submit(batch, `"k`)
		}},
		{name: "malformed cancellation key", code: job.CodeInvalidIdempotencyKey, provoke: func(w *world) answer {
			return w.cancel(w.pending(), `"k`)
		}},
		{name: "malformed replay key", code: job.CodeInvalidIdempotencyKey, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), batch, `"k`)
		}},
		{name: "no submission key", code: job.CodeSubmissionKeyRequired, provoke: func(w *world) answer {
			return w.submit(batch, "")
		}},
		{name: "no cancellation key", code: job.CodeCancellationKeyRequired, provoke: func(w *world) answer {
			return w.cancel(w.pending(), "")
		}},
		{name: "no replay key", code: job.CodeReplayKeyRequired, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), batch, "")
		}},
		{name: "bad page of jobs", code: job.CodeInvalidPageRequest, provoke: func(w *world) answer {
			return w.get(jobsPath + "?limit=101")
		}},
		{name: "bad page of attempts", code: job.CodeInvalidPageRequest, provoke: func(w *world) answer {
			return w.get(w.pending() + "/attempts?cursor=x")
		}},
		{name: "absent attempts", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.get(jobsPath + "/" + uuid.NewString() + "/attempts")
		}},
		{name: "bad page of a lineage", code: job.CodeInvalidPageRequest, provoke: func(w *world) answer {
			return w.get(w.pending() + "/lineage?cursor=x")
		}},
		{
			name: "no credential", code: job.CodeAuthenticationRequired,
			fields:  map[string]string{"WWW-Authenticate": `Basic realm="fencepost", charset="UTF-8"`},
			provoke: func(w *world) answer { return w.get(jobsPath, "Authorization:") },
		},
		{name: "absent job", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.get(jobsPath + "/" + uuid.NewString())
		}},
		{name: "absent job to cancel", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.cancel(jobsPath+"/"+uuid.NewString(), `"canary"`)
		}},
		{name: "absent source", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.replay(jobsPath+"/"+uuid.NewString(), batch, `"canary"`)
		}},
		{name: "absent lineage", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.get(jobsPath + "/" + uuid.NewString() + "/lineage")
		}},
		{name: "absent provenance", code: job.CodeJobNotFound, provoke: func(w *world) answer {
			return w.get(jobsPath + "/" + uuid.NewString() + "/provenance")
		}},
		{name: "unknown route", code: job.CodeRouteNotFound, provoke: func(w *world) answer {
			return w.get(unknownPath)
		}},
		{
			name: "method of no route", code: job.CodeMethodNotAllowed,
			fields:  map[string]string{"Allow": "GET, HEAD, POST, OPTIONS"},
			provoke: func(w *world) answer { return w.do("DELETE", jobsPath, "") },
		},
		{
			name: "reading a cancellation", code: job.CodeMethodNotAllowed,
			fields:  map[string]string{"Allow": "POST, OPTIONS"},
			provoke: func(w *world) answer { return w.get(w.pending() + "/cancellation") },
		},
		{
			name: "representation that there is not", code: job.CodeNotAcceptable,
			fields:  map[string]string{"Vary": "Accept"},
			provoke: func(w *world) answer { return w.get(jobsPath, "Accept: text/html") },
		},
		{
			name: "undecided submission", code: job.CodeSubmissionInProgress, options: impatient,
			fields: map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer {
				w.submit(batch, `"canary"`).require(202)
				w.hold("DELETE FROM etl_job_records")
				return w.submit(batch, `"canary"`)
			},
		},
		{
			name: "undecided cancellation", code: job.CodeCancellationInProgress, options: impatient,
			fields: map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer {
				path := w.pending()
				w.hold("SELECT FROM etl_job_records FOR UPDATE")
				return w.cancel(path, `"canary"`)
			},
		},
		{
			name: "undecided replay", code: job.CodeReplayInProgress, options: impatient,
			fields: map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer {
				path := w.cancelled()
				w.hold("SELECT FROM etl_job_records FOR UPDATE")
				return w.replay(path, batch, `"canary"`)
			},
		},
		{name: "cancelling a succeeded job", code: job.CodeAlreadySucceeded, provoke: func(w *world) answer {
			return w.cancel(w.succeeded(), `"canary"`)
		}},
		{name: "cancelling a failed job", code: job.CodeAlreadyFailed, provoke: func(w *world) answer {
			return w.cancel(w.failed(), `"canary"`)
		}},
		{name: "replaying a pending job", code: job.CodeReplaySourceActive, provoke: func(w *world) answer {
			return w.replay(w.pending(), batch, `"canary"`)
		}},
		{name: "replaying a running job", code: job.CodeReplaySourceActive, provoke: func(w *world) answer {
			return w.replay(w.running(), batch, `"canary"`)
		}},
		{name: "replaying a succeeded job", code: job.CodeReplaySourceSucceeded, provoke: func(w *world) answer {
			return w.replay(w.succeeded(), batch, `"canary"`)
		}},
		{name: "replaying the last generation", code: job.CodeReplayGenerationExhausted, provoke: func(w *world) answer {
			return w.replay(w.exhausted(), batch, `"canary"`)
		}},
		{
			name: "submission too long", code: job.CodePayloadTooLarge,
			fields:  map[string]string{"Connection": "close"},
			provoke: func(w *world) answer { return w.submit(ofLength(1001), `"canary"`) },
		},
		{name: "replay too long", code: job.CodePayloadTooLarge, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), ofLength(1001), `"canary"`)
		}},
		{name: "cancellation too long", code: job.CodePayloadTooLarge, provoke: func(w *world) answer {
			return w.post(w.pending()+"/cancellation", ofLength(1001), `"canary"`)
		}},
		{name: "submission of too many records", code: job.CodeBatchTooLarge, provoke: func(w *world) answer {
			return w.submit(ofRecords(11), `"canary"`)
		}},
		{name: "replay of too many records", code: job.CodeBatchTooLarge, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), ofRecords(11), `"canary"`)
		}},
		{
			name: "submission of another type", code: job.CodeUnsupportedMediaType,
			fields: map[string]string{"Accept-Post": "application/json"},
			provoke: func(w *world) answer {
				return w.do("POST", jobsPath, batch, "Content-Type: text/plain", `Idempotency-Key: "canary"`)
			},
		},
		{
			name: "cancellation of another type", code: job.CodeUnsupportedMediaType,
			fields: map[string]string{"Accept-Post": "application/json"},
			provoke: func(w *world) answer {
				return w.do("POST", w.pending()+"/cancellation", "{}", "Content-Type: text/plain", `Idempotency-Key: "canary"`)
			},
		},
		{
			name: "encoded replay", code: job.CodeUnsupportedMediaType,
			fields: map[string]string{"Accept-Post": "application/json", "Accept-Encoding": "identity"},
			provoke: func(w *world) answer {
				return w.replay(w.cancelled(), batch, `"canary"`, "Content-Encoding: gzip")
			},
		},
		{name: "submission of a record without id", code: job.CodeInvalidRecord, provoke: func(w *world) answer {
			return w.submit(`[{"name":"a"}]`, `"canary"`)
		}},
		{name: "replay of a record without id", code: job.CodeInvalidRecord, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), `[{"name":"a"}]`, `"canary"`)
		}},
		{name: "reason that is not allowed", code: job.CodeInvalidCancellationReason, provoke: func(w *world) answer {
			return w.cancelFor(w.pending(), "maintenance", `"canary"`)
		}},
		{name: "submission key reused", code: job.CodeSubmissionKeyReused, provoke: func(w *world) answer {
			w.submit(batch, `"canary"`).require(202)
			return w.submit(batch+" ", `"canary"`)
		}},
		{name: "cancellation under another key", code: job.CodeCancellationKeyReused, provoke: func(w *world) answer {
			return w.cancel(w.cancelled(), `"another"`)
		}},
		{name: "cancellation for another reason", code: job.CodeCancellationKeyReused, provoke: func(w *world) answer {
			return w.cancelFor(w.cancelled(), "wrong_batch", `"cancel"`)
		}},
		{name: "replay key reused for another source", code: job.CodeReplayKeyReused, provoke: func(w *world) answer {
			w.replay(w.cancelled(), batch, `"canary"`).require(202)
			return w.replay(w.cancelled(), batch, `"canary"`)
		}},
		{name: "replay key reused for other bytes", code: job.CodeReplayKeyReused, provoke: func(w *world) answer {
			source := w.cancelled()
			w.replay(source, batch, `"canary"`).require(202)
			return w.replay(source, batch+" ", `"canary"`)
		}},
		{name: "replay of other bytes", code: job.CodeReplayPayloadMismatch, provoke: func(w *world) answer {
			return w.replay(w.cancelled(), batch+" ", `"canary"`)
		}},
		{
			name: "submitting too often", code: job.CodeRateLimited, options: limited,
			fields:  map[string]string{"Retry-After": "10"},
			provoke: func(w *world) answer { w.pending(); return w.submit(batch, `"canary"`) },
		},
		{
			name: "cancelling too often", code: job.CodeRateLimited, options: limited,
			fields:  map[string]string{"Retry-After": "10"},
			provoke: func(w *world) answer { return w.cancel(w.cancelled(), `"canary"`) },
		},
		{
			name: "replaying too often", code: job.CodeRateLimited, options: limited,
			fields: map[string]string{"Retry-After": "10"},
			provoke: func(w *world) answer {
				source := w.cancelled()
				w.replay(source, batch, `"canary"`).require(202)
				return w.replay(source, batch, `"canary"`)
			},
		},
		{name: "fault in the database", code: job.CodeInternalError, provoke: func(w *world) answer {
			w.exec("ALTER TABLE etl_job_records RENAME COLUMN created_at TO made_at")
			return w.get(jobsPath)
		}},
		{
			name: "panic", code: job.CodeInternalError,
			options: []func(*setup){func(s *setup) { s.limiter = panicking{} }},
			provoke: func(w *world) answer { return w.submit(batch, `"canary"`) },
		},
		{
			name: "unreachable database", code: job.CodeDatabaseUnavailable, options: unreachable,
			fields:  map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer { return w.get(jobsPath) },
		},
		{
			name: "not ready", code: job.CodeDatabaseUnavailable, options: unreachable,
			fields:  map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer { return w.get("/readyz", "Authorization:") },
		},
		{
			name: "no free connection", code: job.CodeDatabaseUnavailable,
			options: []func(*setup){func(s *setup) { s.connections, s.callTimeout = 1, 50*time.Millisecond }},
			fields:  map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer {
				conn, err := w.pool.Acquire(w.Context())
				require.NoError(w, err)
				w.Cleanup(conn.Release)
				return w.submit(batch, `"canary"`)
			},
		},
		{
			name: "out of time", code: job.CodeDatabaseUnavailable,
			options: []func(*setup){func(s *setup) { s.timeout = 300 * time.Millisecond }},
			fields:  map[string]string{"Retry-After": "1"},
			provoke: func(w *world) answer { w.hold("LOCK TABLE etl_job_records"); return w.get(jobsPath) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.options...)
			a := row.provoke(w).refused(row.code)
			require.Equal(t, string(row.code)+"\n", w.codes.String(), "what is counted")
			for name, value := range row.fields {
				require.Equal(t, value, a.header.Get(name), name)
			}
			require.Equal(t, row.fields["Retry-After"], a.header.Get("Retry-After"), "only where waiting helps")
		})
	}
}

// impatient gives up on a row that is held almost at once.
var impatient = []func(*setup){func(s *setup) { s.lockTimeout = 10 * time.Millisecond }}

// limited allows one write of each kind in ten seconds, on a clock that stands still.
var limited = []func(*setup){func(s *setup) {
	s.limiter = ratelimit.New(ratelimit.Rates{Submit: 0.1, Cancel: 0.1, Replay: 0.1}, func() time.Time { return time.Unix(1e9, 0) })
}}

// unreachable names a port on which nothing listens.
var unreachable = []func(*setup){func(s *setup) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s.databaseURL = "postgres://nobody@" + listener.Addr().String() + "/none"
	if err := listener.Close(); err != nil {
		panic(err)
	}
}}

// panicking is a limiter with a fault.
type panicking struct{}

func (panicking) Allow(job.Owner, job.Operation) (time.Duration, bool) { panic(errors.New("canary")) }

// ofLength is a batch of n bytes.
func ofLength(n int) string { return "[" + strings.Repeat(" ", n-2) + "]" }

// ofRecords is a batch of n records.
func ofRecords(n int) string { return "[" + strings.Repeat(`{"id":"a"},`, n-1) + `{"id":"a"}]` }
