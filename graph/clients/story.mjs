// The story that every client tells: submit, page through the jobs, cancel with a typed refusal, replay, read a lineage,
// follow a job and a lineage until they can change no more, and be turned away without valid credentials.
//
//   node story.mjs CLIENT URL AUTHORIZATION
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const [name, url, authorization] = process.argv.slice(2);
const { connect } = await import(`./${name}.mjs`);

const GOOD = JSON.stringify([{ id: 'a' }, { id: 'b' }]);
const BAD = JSON.stringify([{ id: 'refused' }]); // by the load statement of the test

const SUBMIT = `mutation Submit($input: SubmitJobInput!) {
  submitJob(input: $input) {
    ... on SubmitJobSuccess { job { id status recordCount } idempotencyReplayed }
    ... on Problem { code detail }
  }
}`;
const CANCEL = `mutation Cancel($input: CancelJobInput!) {
  cancelJob(input: $input) {
    __typename
    ... on CancelJobSuccess { job { id status } }
    ... on Problem { code status detail relatedJob { id status } }
  }
}`;
const REPLAY = `mutation Replay($input: ReplayJobInput!) {
  replayJob(input: $input) {
    ... on ReplayJobSuccess { job { id replayGeneration replaySource { id } } }
    ... on Problem { code detail }
  }
}`;
const JOBS = `query Jobs($after: String) {
  jobs(first: 2, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
}`;
const NODE = `query Node($id: ID!) { node(id: $id) { id ... on Job { ...Where } } } fragment Where on Job { status failureCode }`;
const LINEAGE = `query Lineage($id: ID!) {
  lineage(jobRecordId: $id) { jobCount root { id } edges { source { id } derived { id } generation } }
}`;
const JOB_CHANGED = `subscription JobChanged($id: ID!) { jobChanged(jobRecordId: $id) { id status } }`;
const LINEAGE_CHANGED = `subscription LineageChanged($id: ID!) {
  lineageChanged(jobRecordId: $id) { jobCount statusCounts { status count } }
}`;

const client = connect(url, authorization);

async function submit(requestPayload) {
  const idempotencyKey = randomUUID();
  const { submitJob } = await client.request(SUBMIT, { input: { requestPayload, idempotencyKey } });
  assert.equal(submitJob.idempotencyReplayed, false, JSON.stringify(submitJob));
  const again = await client.request(SUBMIT, { input: { requestPayload, idempotencyKey } });
  assert.equal(again.submitJob.idempotencyReplayed, true);
  assert.equal(again.submitJob.job.id, submitJob.job.id);
  return submitJob.job.id;
}

// last follows a subscription, or asks again and again when the client has none, and returns the last state.
async function last(query, variables, field) {
  let state;
  for await (const data of client.subscribe(query, variables)) state = data[field];
  return state;
}

async function pages() {
  const ids = [];
  for (let after, more = true; more; ) {
    const { jobs } = await client.request(JOBS, { after });
    ids.push(...jobs.nodes.map(({ id }) => id));
    ({ endCursor: after, hasNextPage: more } = jobs.pageInfo);
  }
  return ids;
}

const good = await submit(GOOD);
const bad = await submit(BAD);
const other = await submit(GOOD);

if (client.subscribe) {
  assert.equal((await last(JOB_CHANGED, { id: good }, 'jobChanged')).status, 'SUCCEEDED');
  assert.equal((await last(JOB_CHANGED, { id: bad }, 'jobChanged')).status, 'FAILED');
  await assert.rejects(() => last(JOB_CHANGED, { id: 'no such job' }, 'jobChanged'), (error) => client.code(error) === 'NOT_FOUND');
} else {
  for (const id of [good, bad]) while (!['SUCCEEDED', 'FAILED'].includes((await client.request(NODE, { id })).node.status));
}

const seen = await pages();
for (const id of [good, bad, other]) assert.equal(seen.filter((each) => each === id).length, 1, `${id} in ${seen}`);

const { node } = await client.request(NODE, { id: bad });
assert.deepEqual([node.status, node.failureCode], ['FAILED', 'etl_target_failure']);
assert.equal((await client.request(NODE, { id: randomUUID() })).node, null);

const { cancelJob } = await client.request(CANCEL, { input: { jobRecordId: good, idempotencyKey: randomUUID() } });
assert.equal(cancelJob.__typename, 'Problem');
assert.deepEqual([cancelJob.code, cancelJob.status, cancelJob.relatedJob.id], ['ETL_JOB_ALREADY_SUCCEEDED', 409, good]);

const { replayJob } = await client.request(REPLAY, {
  input: { sourceJobRecordId: bad, requestPayload: BAD, idempotencyKey: randomUUID() },
});
assert.deepEqual([replayJob.job.replayGeneration, replayJob.job.replaySource.id], [1, bad], JSON.stringify(replayJob));

if (client.subscribe) {
  const { jobCount, statusCounts } = await last(LINEAGE_CHANGED, { id: bad }, 'lineageChanged');
  assert.equal(jobCount, 2);
  assert.equal(statusCounts.find(({ status }) => status === 'FAILED').count, 2);
}
const { lineage } = await client.request(LINEAGE, { id: replayJob.job.id });
assert.deepEqual([lineage.jobCount, lineage.root.id, lineage.edges.length], [2, bad, 1]);
assert.deepEqual([lineage.edges[0].source.id, lineage.edges[0].derived.id], [bad, replayJob.job.id]);

await assert.rejects(() => client.request('{ nonsense }'), (error) => client.code(error) === 'GRAPHQL_VALIDATION_FAILED');
await assert.rejects(() => client.request('{ jobs(first: 1000) { nodes { id } } }'), (error) => client.code(error) === 'BAD_USER_INPUT');

const stranger = connect(url, `Basic ${btoa('ann:wrong')}`);
await assert.rejects(() => stranger.request(JOBS, {}), (error) => stranger.status(error) === 401);

await client.close?.();
await stranger.close?.();
console.log(`${name} has told the story`);
