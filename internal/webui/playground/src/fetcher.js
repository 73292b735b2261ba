import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { getOperationAST, OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-sse';

const url = '/graphql';
const ask = createGraphiQLFetcher({ url, enableIncrementalDelivery: false });
const events = createClient({ url });

// fetcher runs queries and mutations with one request each, and subscriptions as server-sent events.
export function fetcher(params, options) {
  const operation = options?.documentAST && getOperationAST(options.documentAST, params.operationName);
  return operation?.operation === OperationTypeNode.SUBSCRIPTION ? events.iterate(params) : ask(params, options);
}
