// Loads the movies of vega-datasets through Fencepost, mends the table that one batch does not fit into, replays that
// batch, and compares the table with the source. It may be run again: every write has a key that its batch derives.
// README.md says how to start it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { ended, lineage, replay, submit } from './api.mjs';
import { batches, expected } from './movies.mjs';

const sql = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');

const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();
try {
  await main();
} finally {
  await database.end();
}

async function main() {
  await database.query(sql('schema.sql'));
  const failed = await loadAll();

  // One film earned more than an integer can hold.
  assert.deepEqual(failed.map(({ job }) => job.failureCode), ['etl_target_failure']);
  await database.query('ALTER TABLE movies ALTER COLUMN worldwide_gross TYPE bigint');
  await replayOne(failed[0]);

  const { rows: [totals] } = await database.query(sql('totals.sql'));
  assert.deepEqual(texts(totals), texts(expected));
  console.log(`The table equals the source: ${totals.movies} movies, ${totals.worldwide_gross / 10} earned worldwide.`);
}

/** Submits every batch, waits for their ends and returns those that failed. */
async function loadAll() {
  const loads = [];
  for (const batch of batches) loads.push({ batch, accepted: await submit(batch.name, batch.body) });
  for (const load of loads) load.job = await ended(load.accepted.jobRecordId);
  const failed = loads.filter(({ job }) => job.jobStatus !== 'SUCCEEDED');
  console.log(`${batches.length} batches: ${loads.length - failed.length} succeeded, ${failed.length} failed.`);
  return failed;
}

/** Replays a failed job with the same bytes. */
async function replayOne({ batch, job }) {
  const { jobRecordId } = await replay(job.jobRecordId, `${batch.name}-replay`, batch.body);
  const { jobStatus, replayGenerationCount } = await ended(jobRecordId);
  assert.equal(jobStatus, 'SUCCEEDED');
  const { jobs } = await lineage(jobRecordId);
  console.log(`${batch.name}: ${jobs.map((each) => each.jobStatus).join(' -> ')}, generation ${replayGenerationCount}.`);
}

function texts(row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
}
