// Reads a provenance document from standard input as RDF, where nothing may be dropped or fetched, and checks two constraints
// of PROV-CONSTRAINTS: derivation has no cycle, and what an activity uses was generated before. Prints how many statements
// there are.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import jsonld from 'jsonld';

const quads = await jsonld.toRDF(JSON.parse(await text(process.stdin)), {
  safe: true,
  documentLoader: (url) => assert.fail(`${url} would be fetched`),
});

function relation(name) {
  const found = quads.filter((quad) => quad.predicate.value === `http://www.w3.org/ns/prov#${name}`);
  return new Map(found.map((quad) => [quad.subject.value, quad.object.value]));
}

const derivedFrom = relation('wasDerivedFrom');
const generatedBy = relation('wasGeneratedBy');
const startedAt = relation('startedAtTime');

for (const first of derivedFrom.keys()) {
  const seen = new Set();
  for (let entity = first; entity !== undefined; entity = derivedFrom.get(entity)) {
    assert(!seen.has(entity), `${entity} is derived from itself`);
    seen.add(entity);
  }
}
for (const [activity, entity] of relation('used')) {
  const generation = generatedBy.get(entity);
  if (generation !== undefined) assert(startedAt.get(generation) <= startedAt.get(activity), `${activity} is too early`);
}
console.log(`${quads.length} statements`);
