package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The first bytes of messages.
const (
	query         = 'Q'
	parse         = 'P'
	bind          = 'B'
	describe      = 'D'
	execute       = 'E'
	closing       = 'C'
	synchronise   = 'S'
	readyForQuery = 'Z'
)

// The lengths of a message's head. Only the first message of a client has no type.
const (
	untyped = 4
	typed   = 5
)

// readMessage reads one message as it travels: its type, its length, and its body.
func readMessage(in io.Reader, head int64) ([]byte, error) {
	var message bytes.Buffer
	if _, err := io.CopyN(&message, in, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(message.Bytes()[head-4:])
	_, err := io.CopyN(&message, in, int64(length)-4)
	return message.Bytes(), err
}

// trip is what a client sends at once.
type trip struct {
	bytes []byte
	// statements are the ones that it executes.
	statements []string
	// complete says that there is no more to it, and answered that the server ends its answer with ReadyForQuery.
	complete, answered bool
}

// runs reports whether one of the statements is a command.
func (t trip) runs(command string) bool {
	return slices.ContainsFunc(t.statements, func(sql string) bool {
		words := strings.Fields(sql)
		return len(words) > 0 && strings.EqualFold(words[0], command)
	})
}

// readTrip reads all messages of a round trip.
func (l *link) readTrip(in io.Reader) (t trip, err error) {
	for err == nil && !t.complete {
		var message []byte
		message, err = readMessage(in, typed)
		if err == nil {
			l.add(&t, message)
		}
	}
	return t, err
}

// add reads which statements a message prepares and executes. A message of another kind, such as a password, travels alone.
func (l *link) add(t *trip, message []byte) {
	t.bytes = append(t.bytes, message...)
	body := message[typed:]
	switch message[0] {
	case parse:
		var p pgproto3.Parse
		_ = p.Decode(body) // the server refuses what is malformed
		l.prepared[p.Name] = p.Query
	case bind:
		var b pgproto3.Bind
		_ = b.Decode(body)
		t.statements = append(t.statements, l.prepared[b.PreparedStatement])
	case query:
		var q pgproto3.Query
		_ = q.Decode(body)
		t.statements = append(t.statements, q.String)
		t.complete, t.answered = true, true
	case synchronise:
		t.complete, t.answered = true, true
	case describe, execute, closing:
	default:
		t.complete = true
	}
}
