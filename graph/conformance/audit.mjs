// Runs the server audits of graphql-http (GraphQL over HTTP) against the endpoint named on the command line, one after
// another, and prints those that it fails, SHOULD and MAY as well as MUST. Exits with 0 when all pass.
import { serverAudits } from 'graphql-http';

// Another number means that the pinned suite has changed and must be looked at again.
const EXPECTED_AUDITS = 61;

const url = process.argv[2];

// Without an Accept header, fetch adds "*/*", and the audits of a missing header would test something else. An empty one is
// the nearest that fetch can send.
const fetchFn = (input, init = {}) => {
  const headers = new Headers(init.headers);
  if (!headers.has('accept')) headers.set('accept', '');
  return fetch(input, { ...init, headers, redirect: 'manual' });
};

const results = [];
for (const audit of serverAudits({ url, fetchFn })) {
  results.push(await audit.fn());
}
const failed = results.filter(({ status }) => status !== 'ok');
for (const { id, name, reason, response } of failed) {
  console.log(`${id} ${name}: ${reason} (got ${response.status} ${response.headers.get('content-type')})`);
}
console.log(`${results.length - failed.length} of ${results.length} audits passed`);
process.exit(results.length === EXPECTED_AUDITS && failed.length === 0 ? 0 : 1);
