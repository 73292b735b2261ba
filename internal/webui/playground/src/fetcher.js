import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { getOperationAST, OperationTypeNode, parse } from 'graphql';
import { createClient } from 'graphql-sse';

const url = '/graphql';
const ask = createGraphiQLFetcher({ url, enableIncrementalDelivery: false });
const events = createClient({ url });

// fetcher runs queries and mutations with one request each, and subscriptions as server-sent events.
export function fetcher(params, options) {
  return isSubscription(params) ? events.iterate(params) : ask(params, options);
}

// isSubscription is false for what is no GraphQL: the server says what is wrong with it.
function isSubscription({ query, operationName }) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === OperationTypeNode.SUBSCRIPTION;
  } catch {
    return false;
  }
}
