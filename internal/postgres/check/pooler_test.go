package check_test

import (
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// A pooler lends its connections to clients for a transaction each, and knows nothing of prepared statements.
type pooler struct {
	url  string
	mu   sync.Mutex
	free []*pgconn.HijackedConn
}

// throughPooler is a database as it has to be, behind a pooler.
func throughPooler(t *testing.T) string {
	t.Helper()
	p := &pooler{url: newURL(t)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(t, client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
		for _, server := range p.free {
			_ = server.Conn.Close()
		}
	})
	return "postgres://any@" + listener.Addr().String() + "/any?sslmode=disable"
}

// serve is the whole life of a client.
func (p *pooler) serve(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	client := pgproto3.NewBackend(conn, conn)
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return
	}
	client.Send(&pgproto3.AuthenticationOk{})
	client.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	client.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	client.Send(&pgproto3.BackendKeyData{SecretKey: make([]byte, 4)})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for client.Flush() == nil && p.transaction(t, client) {
	}
}

// transaction lends a client a connection until it is idle, and reports whether the client is still there.
func (p *pooler) transaction(t *testing.T, client *pgproto3.Backend) bool {
	t.Helper()
	first, err := client.Receive()
	if err != nil {
		return false
	}
	server := p.take(t)
	defer p.giveBack(server)
	for message := first; ; {
		server.Frontend.Send(message)
		switch message.(type) {
		case *pgproto3.Terminate:
			return false
		case *pgproto3.Query, *pgproto3.Sync:
			if idle := answer(t, server.Frontend, client); idle {
				return true
			}
		}
		if message, err = client.Receive(); err != nil {
			return false
		}
	}
}

// answer passes on what the server says until it is ready again, and reports whether no transaction is under way then.
func answer(t *testing.T, server *pgproto3.Frontend, client *pgproto3.Backend) (idle bool) {
	t.Helper()
	if server.Flush() != nil {
		return false
	}
	for {
		message, err := server.Receive()
		if err != nil {
			return false
		}
		client.Send(message)
		if ready, is := message.(*pgproto3.ReadyForQuery); is {
			if ready.TxStatus != 'I' {
				_ = client.Flush()
			}
			return ready.TxStatus == 'I'
		}
	}
}

func (p *pooler) take(t *testing.T) *pgconn.HijackedConn {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		server := p.free[last]
		p.free = p.free[:last]
		return server
	}
	conn, err := pgconn.Connect(t.Context(), p.url)
	if err != nil {
		panic(err)
	}
	server, err := conn.Hijack()
	if err != nil {
		panic(err)
	}
	return server
}

func (p *pooler) giveBack(server *pgconn.HijackedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, server)
}
