import { Client, fetchExchange } from '@urql/core';
import { toAsyncIterable } from 'wonka';

// Queries and mutations go by fetch, and so do subscriptions, as server-sent events.
export function connect(url, authorization) {
  const client = new Client({
    url,
    exchanges: [fetchExchange],
    fetchSubscriptions: true,
    fetchOptions: { headers: { authorization } },
  });
  const dataOf = ({ data, error }) => {
    if (error) throw error;
    return data;
  };
  return {
    async request(query, variables = {}) {
      const operation = query.startsWith('mutation') ? 'mutation' : 'query';
      return dataOf(await client[operation](query, variables).toPromise());
    },
    async *subscribe(query, variables) {
      for await (const result of toAsyncIterable(client.subscription(query, variables))) yield dataOf(result);
    },
    code: (error) => error.graphQLErrors[0].extensions.code,
    status: (error) => error.response.status,
  };
}
