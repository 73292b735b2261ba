import { GraphQLClient } from 'graphql-request';

// graphql-request has no subscriptions.
export function connect(url, authorization) {
  const client = new GraphQLClient(url, { headers: { authorization } });
  return {
    request: (query, variables) => client.request(query, variables),
    code: (error) => error.response.errors[0].extensions.code,
    status: (error) => error.response.status,
  };
}
