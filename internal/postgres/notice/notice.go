// Package notice tells processes that the status of a job has changed. Notices are hints: they may be lost or repeated, and decide
// nothing.
package notice

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fencepost/internal/job"
	"fencepost/internal/postgres/db"
	"fencepost/internal/postgres/statements"
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
	// listenRetryDelay is the pause before a lost listener connects again.
	listenRetryDelay = time.Second
)

// A Sender sends notices after the transaction that they tell of. A NOTIFY inside it would make all commits queue up
// behind one lock, and lose group commit.
type Sender struct {
	db      db.DB
	waiting chan string
	// stop is closed to end the sender, and done by the sender when it has ended.
	stop, done chan struct{}
}

// NewSender makes a sender, to be stopped by [Sender.Close]. The pool stays the caller's.
func NewSender(conn db.DB) *Sender {
	n := newSender(conn)
	go n.run()
	return n
}

// newSender makes one that does not run yet.
func newSender(conn db.DB) *Sender {
	return &Sender{
		db:      conn,
		waiting: make(chan string, noticeBacklog),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// Publish hands a notice to the sender, without waiting.
func (n *Sender) Publish(notice worker.Notice) {
	select {
	case n.waiting <- string(notice.Status) + " " + notice.JobID.String() + " " + notice.RootID.String():
	default:
	}
}

// PublishJob hands over the notice of a job in its present status.
func (n *Sender) PublishJob(j job.Job) {
	n.Publish(worker.Notice{JobID: j.ID, RootID: j.RootID(), Status: j.Status})
}

// PublishLease hands over the notice of a leased job in a new status.
func (n *Sender) PublishLease(l worker.Lease, status job.Status) {
	n.Publish(worker.Notice{JobID: l.JobID, RootID: l.RootID, Status: status})
}

// Close sends what is waiting and stops the sender. A straggler may still publish: its notice is lost.
func (n *Sender) Close() {
	close(n.stop)
	<-n.done
}

// run sends notices until it is stopped, and then the ones that still wait.
func (n *Sender) run() {
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
func (n *Sender) drain() {
	for len(n.waiting) > 0 {
		n.sendWith(<-n.waiting)
	}
}

// pause lets further notices gather, where so many did not fill a notification.
func (n *Sender) pause(sent int) {
	if sent == noticesAtOnce {
		return
	}
	select {
	case <-time.After(noticePause):
	case <-n.stop:
	}
}

// sendWith sends a line, and with it those that have gathered. It returns their number.
func (n *Sender) sendWith(line string) int {
	lines := []string{line}
	for len(n.waiting) > 0 && len(lines) < noticesAtOnce {
		lines = append(lines, <-n.waiting)
	}
	n.send(strings.Join(lines, "\n"))
	return len(lines)
}

// send drops the notice when it fails: whoever missed it finds out by polling. Nor does it wait for the disk.
func (n *Sender) send(payload string) {
	_ = n.db.Query(context.Background(), "notify",
		db.Set("synchronous_commit", "off"),
		db.Exec(notify, statements.Args{"channel": channel, "lines": payload}))
}

var notify = statements.Named("notify")

// Listen calls handle for every notice, from any process, until ctx is done. It holds a connection of its own and connects
// again when that is lost; after each connect it passes the zero notice, since notices may have been missed.
func Listen(ctx context.Context, config *pgx.ConnConfig, handle func(worker.Notice)) {
	for ctx.Err() == nil {
		listenOnce(ctx, config, handle)
		select {
		case <-ctx.Done():
		case <-time.After(listenRetryDelay):
		}
	}
}

// connect begins to listen on a connection of its own.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	config = config.Copy()
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.Exec(ctx, "LISTEN "+channel).Close()
	}
	return pgx.ConnectConfig(ctx, config)
}

// listenOnce listens on one connection until it is lost.
func listenOnce(ctx context.Context, config *pgx.ConnConfig, handle func(worker.Notice)) {
	conn, err := connect(ctx, config)
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

// Heard tells whether what is sent on a connection arrives where notices are listened for, by a word that stands for nothing. It waits
// for that until ctx is done.
func Heard(ctx context.Context, conn db.Conn, config *pgx.ConnConfig, word string) bool {
	listener, err := connect(ctx, config)
	if err != nil {
		return false
	}
	defer listener.Close(context.WithoutCancel(ctx)) // it was only tried
	if db.Send(ctx, conn, db.Exec(notify, statements.Args{"channel": channel, "lines": word})) != nil {
		return false
	}
	for {
		notification, err := listener.WaitForNotification(ctx)
		if err != nil || notification.Payload == word {
			return err == nil
		}
	}
}
