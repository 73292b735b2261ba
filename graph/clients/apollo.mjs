import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { socketWith } from './graphql-ws.mjs';

globalThis.WebSocket ??= WebSocket; // which the link names, and Node.js has from version 22 on

// Subscriptions go over a WebSocket, everything else by fetch; results pass the normalised cache.
export function connect(url, authorization) {
  const socket = createClient({ url: url.replace(/^http/, 'ws'), webSocketImpl: socketWith(authorization), retryAttempts: 0 });
  const link = ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(socket),
    new HttpLink({ uri: url, headers: { authorization } }),
  );
  const cache = new InMemoryCache({ possibleTypes: { Node: ['Job'] } });
  const client = new ApolloClient({ link, cache });
  return {
    async request(text, variables) {
      const document = gql(text);
      const { data } = text.startsWith('mutation')
        ? await client.mutate({ mutation: document, variables })
        : await client.query({ query: document, variables, fetchPolicy: 'network-only' });
      return data;
    },
    async *subscribe(text, variables) {
      yield* await collect(client.subscribe({ query: gql(text), variables }));
    },
    code: (error) => error.errors[0].extensions.code,
    status: (error) => error.statusCode,
    close: () => socket.dispose(),
  };
}

function collect(results) {
  return new Promise((resolve, reject) => {
    const all = [];
    results.subscribe({
      next: ({ data, error }) => (error ? reject(error) : all.push(data)),
      error: reject,
      complete: () => resolve(all),
    });
  });
}
