import { createClient } from 'graphql-sse';
import { Refused, dataOf, only } from './result.mjs';

// Everything goes over server-sent events, one request for each operation.
export function connect(url, authorization) {
  const client = createClient({ url, headers: { authorization }, retryAttempts: 0 });
  async function* subscribe(query, variables) {
    for await (const result of client.iterate({ query, variables })) yield dataOf(result);
  }
  return {
    subscribe,
    request: (query, variables) => only(subscribe(query, variables)),
    code: (error) => error instanceof Refused && error.code,
    status: (error) => error.response.status,
    close: () => client.dispose(),
  };
}
