package notice

// What the tests, which are a package of their own, have to see of the inside.
const (
	Channel  = channel
	Backlog  = noticeBacklog
	AtOnce   = noticesAtOnce
	Interval = noticePause
)

// Idle is a sender that does not run yet.
var Idle = newSender

// ListenOnce listens on one connection until it is lost.
var ListenOnce = listenOnce

// The steps of a sender.
func (n *Sender) Run()           { n.run() }
func (n *Sender) Drain()         { n.drain() }
func (n *Sender) Pause(sent int) { n.pause(sent) }
func (n *Sender) Stop()          { close(n.stop) }
func (n *Sender) Waiting() int   { return len(n.waiting) }
