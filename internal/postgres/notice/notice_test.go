package notice_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"fencepost/internal/job"
	"fencepost/internal/pgtest"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/notice"
	"fencepost/internal/postgres/storetest"
	"fencepost/internal/worker"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestListenerConnectsAgainAndSaysSo(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	notices := w.Listen()
	w.MustExec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
	w.RequireNotices(notices, worker.Notice{})
	j := w.Submit()
	w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}

func TestForeignNotificationsArePassedOver(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	notices := w.Listen()
	id := uuid.NewString()
	for _, payload := range []string{"", "nonsense", "PENDING " + uuid.NewString(), "DONE " + id + " " + id, "PENDING nonsense " + id} {
		w.MustExec("SELECT pg_notify($1, $2)", notice.Channel, payload)
	}
	j := w.Submit()
	w.RequireNotices(notices, worker.Notice{JobID: j.ID, RootID: j.ID, Status: job.StatusPending})
}

func TestPublishingNeverWaits(t *testing.T) {
	t.Parallel()
	n := notice.Idle(db.DB{}) // nobody sends
	for range notice.Backlog + 1 {
		n.Publish(worker.Notice{Status: job.StatusPending})
	}
	require.Equal(t, notice.Backlog, n.Waiting())
}

func TestPublishingAfterTheCloseIsHarmless(t *testing.T) {
	t.Parallel()
	n := notice.NewSender(db.DB{})
	n.Close()
	n.Publish(worker.Notice{Status: job.StatusPending})
}

func TestNoticesThatGatherGoOutTogether(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	notices := w.Listen()
	n := notice.Idle(db.New(w.Pool, storetest.Patience))
	sent := publishMany(n)
	go n.Run()
	w.RequireNotices(notices, sent...)
	n.Close()
}

func TestNoticesThatWaitAtTheCloseAreSent(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	notices := w.Listen()
	n := notice.Idle(db.New(w.Pool, storetest.Patience))
	sent := publishMany(n)
	n.Drain() // what run does once it is stopped; which of the two it sees first is chance
	w.RequireNotices(notices, sent...)
}

// publishMany publishes one notice more than a notification can hold.
func publishMany(n *notice.Sender) []worker.Notice {
	notices := make([]worker.Notice, notice.AtOnce+1)
	for i := range notices {
		notices[i] = worker.Notice{JobID: uuid.New(), RootID: uuid.New(), Status: job.StatusSucceeded}
		n.Publish(notices[i])
	}
	return notices
}

func TestThePauseBetweenNotificationsEndsByItselfAndAtTheStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, began := notice.Idle(db.DB{}), time.Now()
		n.Pause(notice.AtOnce)
		require.Zero(t, time.Since(began), "what was full is followed at once")
		n.Pause(1)
		require.Equal(t, notice.Interval, time.Since(began))
		n.Stop()
		n.Pause(1)
		require.Equal(t, notice.Interval, time.Since(began))
	})
}

func TestAListenerThatCannotConnectTellsNothing(t *testing.T) {
	t.Parallel()
	nowhere, err := db.ParseListen("postgres://127.0.0.1:1/none")
	require.NoError(t, err)
	notice.ListenOnce(t.Context(), nowhere, func(n worker.Notice) { t.Errorf("told %v", n) })
}

// A conn ends a context once what it was given is sent.
type conn struct {
	db.Conn
	end context.CancelFunc
}

func (c conn) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return answers{c.Conn.SendBatch(ctx, b), c.end}
}

type answers struct {
	pgx.BatchResults
	end context.CancelFunc
}

func (a answers) Close() error {
	defer a.end()
	return a.BatchResults.Close()
}

func TestWordIsHeardOnlyWhereNoticesArrive(t *testing.T) {
	t.Parallel()
	w := storetest.New(t)
	here := w.Config.Listen
	elsewhere, err := db.ParseListen(pgtest.EmptyURL(t))
	require.NoError(t, err)
	nowhere, err := db.ParseListen("postgres://127.0.0.1:1/none")
	require.NoError(t, err)
	closed := storetest.Open(t, w.URL)
	closed.Close()

	require.True(t, notice.Heard(t.Context(), w.Pool, here, "word"))
	require.False(t, notice.Heard(t.Context(), w.Pool, nowhere, "word"))
	require.False(t, notice.Heard(t.Context(), closed, here, "word"))
	ctx, end := context.WithCancel(t.Context())
	require.False(t, notice.Heard(ctx, conn{w.Pool, end}, elsewhere, "word"))
}
