package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fencepost/internal/job"
	"fencepost/internal/worker"
)

// channel carries the notices: lines of a status, a job id and the id of the first job of its lineage.
const channel = "fencepost_job_changed"

const (
	// noticeBacklog is how many notices may wait; further ones are dropped, since they are hints.
	noticeBacklog = 4096
	// noticesAtOnce keeps a notification below PostgreSQL's limit of 8,000 bytes.
	noticesAtOnce = 90
	// noticePause is the least time between two notifications, unless the first was full. One that comes after a quiet time goes
	// at once; when there are many, they share the work of a notification, on this side and on that of every listener.
	noticePause = 5 * time.Millisecond
	// noticeTimeout bounds the sending of one notification.
	noticeTimeout = 5 * time.Second
	// listenRetryDelay is the pause before a lost listener connects again.
	listenRetryDelay = time.Second
)

// A notifier sends notices after the transaction that they tell of. A NOTIFY inside it would make all commits queue up
// behind one lock, and lose group commit.
type notifier struct {
	pool    *pgxpool.Pool
	waiting chan string
	// stop is closed to end the sender, and done by the sender when it has ended.
	stop, done chan struct{}
}

func newNotifier(pool *pgxpool.Pool) *notifier {
	return &notifier{
		pool:    pool,
		waiting: make(chan string, noticeBacklog),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// publish hands a notice to the sender, without waiting.
func (n *notifier) publish(notice worker.Notice) {
	select {
	case n.waiting <- string(notice.Status) + " " + notice.JobID.String() + " " + notice.RootID.String():
	default:
	}
}

// publishJob hands over the notice of a job in its present status.
func (n *notifier) publishJob(j job.Job) {
	n.publish(worker.Notice{JobID: j.ID, RootID: j.RootID(), Status: j.Status})
}

// publishLease hands over the notice of a leased job in a new status.
func (n *notifier) publishLease(l worker.Lease, status job.Status) {
	n.publish(worker.Notice{JobID: l.JobID, RootID: l.RootID, Status: status})
}

// close sends what is waiting and stops the sender. A straggler may still publish: its notice is lost.
func (n *notifier) close() {
	close(n.stop)
	<-n.done
}

// run sends notices until it is stopped, and then the ones that still wait.
func (n *notifier) run() {
	defer close(n.done)
	for {
		select {
		case line := <-n.waiting:
			n.pause(n.sendWith(line))
		case <-n.stop:
			n.drain()
			return
		}
	}
}

// drain sends what waits, without a pause.
func (n *notifier) drain() {
	for len(n.waiting) > 0 {
		n.sendWith(<-n.waiting)
	}
}

// pause lets further notices gather, where so many did not fill a notification.
func (n *notifier) pause(sent int) {
	if sent == noticesAtOnce {
		return
	}
	select {
	case <-time.After(noticePause):
	case <-n.stop:
	}
}

// sendWith sends a line, and with it those that have gathered. It returns their number.
func (n *notifier) sendWith(line string) int {
	lines := []string{line}
	for len(n.waiting) > 0 && len(lines) < noticesAtOnce {
		lines = append(lines, <-n.waiting)
	}
	n.send(strings.Join(lines, "\n"))
	return len(lines)
}

// send drops the notice when it fails: whoever missed it finds out by polling. Nor does it wait for the disk.
func (n *notifier) send(payload string) {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	batch.Queue(`SELECT pg_notify($1, $2)`, channel, payload)
	_ = n.pool.SendBatch(ctx, batch).Close()
}

// Listen calls handle for every notice, from any process, until ctx is done. It holds a connection of its own and connects
// again when that is lost; after each connect it passes the zero notice, since notices may have been missed.
func (s *Store) Listen(ctx context.Context, handle func(worker.Notice)) {
	for ctx.Err() == nil {
		s.listenOnce(ctx, handle)
		select {
		case <-ctx.Done():
		case <-time.After(listenRetryDelay):
		}
	}
}

// listenOnce listens on one connection until it is lost.
func (s *Store) listenOnce(ctx context.Context, handle func(worker.Notice)) {
	config := s.config.Listen.Copy()
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.Exec(ctx, "LISTEN "+channel).Close()
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) // the connection is given up either way
	handle(worker.Notice{})
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		for line := range strings.Lines(notification.Payload) {
			if notice, ok := parseNotice(strings.TrimSuffix(line, "\n")); ok {
				handle(notice)
			}
		}
	}
}

// parseNotice reads one line. Anyone may notify the channel, so what does not parse is passed over.
func parseNotice(line string) (worker.Notice, bool) {
	status, ids, _ := strings.Cut(line, " ")
	id, root, _ := strings.Cut(ids, " ")
	jobID, err := uuid.Parse(id)
	rootID, rootErr := uuid.Parse(root)
	notice := worker.Notice{JobID: jobID, RootID: rootID, Status: job.Status(status)}
	return notice, err == nil && rootErr == nil && notice.Status.Valid()
}
