import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { Refused, dataOf, only } from './result.mjs';

// socketWith makes a WebSocket that authenticates in the handshake, as a browser does by itself.
export function socketWith(authorization) {
  return class extends WebSocket {
    constructor(address, protocols) {
      super(address, protocols, { headers: { authorization } });
    }
  };
}

// Everything goes over one WebSocket.
export function connect(url, authorization) {
  const client = createClient({
    url: url.replace(/^http/, 'ws'), webSocketImpl: socketWith(authorization), retryAttempts: 0,
  });
  async function* subscribe(query, variables) {
    for await (const result of client.iterate({ query, variables })) yield dataOf(result);
  }
  return {
    subscribe,
    request: (query, variables) => only(subscribe(query, variables)),
    code: (error) => (error instanceof Refused ? error.code : error[0].extensions.code),
    status: (error) => Number(/Unexpected server response: (\d+)/.exec(error.message)[1]),
    close: () => client.dispose(),
  };
}
