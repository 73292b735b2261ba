// Sends typed operations. Nothing but fetch is needed: an operation is its own text, and its type says what goes in and out.
import type { TypedDocumentString } from './generated/graphql.js';

const url = process.env.FENCEPOST_URL ?? 'http://127.0.0.1:8080';
const user = process.env.FENCEPOST_USER ?? 'operator';
const credentials = Buffer.from(`${user}:${process.env.FENCEPOST_PASSWORD ?? ''}`).toString('base64');

interface Answer<Data> {
  data?: Data | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Returns the data of an operation. An error of GraphQL itself is thrown; a refusal is data, see `accepted`. */
export async function request<Data, Variables>(
  operation: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Basic ${credentials}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: operation.toString(), variables }),
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const { data, errors } = (await response.json()) as Answer<Data>;
  if (errors || !data) throw new Error(errors?.map(({ message }) => message).join('; ') ?? 'no data');
  return data;
}

/** Returns the success of a mutation, or throws the problem that it met instead. */
export function accepted<Outcome extends { __typename: string }>(outcome: Outcome): Exclude<Outcome, { __typename: 'Problem' }> {
  if ('code' in outcome && 'detail' in outcome) throw new Error(`${outcome.code}: ${outcome.detail}`);
  return outcome as Exclude<Outcome, { __typename: 'Problem' }>;
}
