package transport

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// operation is one that a connection runs, until it has answered or its client wants no more of it.
type operation struct {
	connection *connection
	id         string
	stop       context.CancelFunc
}

func (o *operation) run(ctx context.Context, params *graphql.RawParams) {
	defer o.stop()
	defer func() {
		if cause := recover(); cause != nil { // no resolver's, but nothing else would catch it here
			o.fail(ctx, gqlerror.List{o.connection.Failed(ctx, cause)})
		}
	}()
	op, refused := o.connection.exec.CreateOperationContext(ctx, params)
	respond, ctx := dispatch(ctx, o.connection.exec, op, refused)
	for response := respond(ctx); response != nil; response = respond(ctx) {
		if response.Data == nil {
			o.fail(ctx, response.Errors)
			return
		}
		o.send(ctx, sent{Type: messageNext, ID: o.id, Payload: response})
	}
	o.send(ctx, sent{Type: messageComplete, ID: o.id})
}

// fail tells why there is no data.
func (o *operation) fail(ctx context.Context, errs gqlerror.List) {
	o.send(ctx, sent{Type: messageError, ID: o.id, Payload: errs})
}

// send writes a message, unless the client has completed the operation. Every message but "next" is the last one; it frees
// the id before the client can know that it is free.
func (o *operation) send(ctx context.Context, m sent) {
	c := o.connection
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations[o.id] != o {
		return
	}
	if m.Type != messageNext {
		delete(c.operations, o.id)
	}
	c.write(ctx, m)
}
