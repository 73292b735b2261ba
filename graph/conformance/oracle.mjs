// Compares the endpoint named on the command line with graphql-js: the same generated documents must be refused by both, or
// give the same data. Prints what differs, and exits with 0 when nothing does.
import { isDeepStrictEqual } from 'node:util';
import { execute, parse, validate } from 'graphql';
import { canned } from './canned.mjs';
import { Generator } from './generate.mjs';

const [url, seed, documents] = process.argv.slice(2);

async function post(body) {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return response.json();
}

async function oracle({ schema, rootValue }, { query, variables }) {
  let document;
  try {
    document = parse(query);
  } catch (error) {
    return { errors: [error] };
  }
  const errors = validate(schema, document);
  if (errors.length > 0) return { errors };
  return execute({ schema, rootValue, document, variableValues: variables });
}

const world = await canned(post);
const ids = world.rootValue.jobs({}).nodes.map((job) => job.id);
const generator = new Generator(world.schema, ids, Number(seed));
const seen = { answered: 0, partly: 0, refused: 0, tooComplex: 0, different: 0 };
for (let i = 0; i < Number(documents); i++) {
  const request = generator.request();
  const ours = await post(request);
  if (ours.errors?.[0].extensions.code === 'QUERY_TOO_COMPLEX') {
    seen.tooComplex++;
    continue;
  }
  const theirs = JSON.parse(JSON.stringify(await oracle(world, request)));
  if (!isDeepStrictEqual(ours.data, theirs.data) || Boolean(ours.errors) !== Boolean(theirs.errors)) {
    seen.different++;
    console.log(JSON.stringify({ request, ours, theirs }, null, 1));
  }
  seen[!theirs.errors ? 'answered' : theirs.data === undefined ? 'refused' : 'partly']++;
}
console.log(JSON.stringify(seen));
process.exit(seen.different === 0 ? 0 : 1);
