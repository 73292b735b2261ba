// Submits a batch, cancels it, replays it, waits for its end and pages through the lineage.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { accepted, request } from './client.js';
import { Cancel, Job, Lineage, Replay, Submit } from './operations.js';
import type { JobStatus, LineageQuery } from './generated/graphql.js';

const requestPayload = JSON.stringify([{ id: 'tea', price: 4.2 }]);
const final: ReadonlySet<JobStatus> = new Set<JobStatus>(['SUCCEEDED', 'FAILED', 'CANCELLED']);

async function ended(id: string): Promise<JobStatus> {
  for (;;) {
    const { job } = await request(Job, { id });
    if (!job) throw new Error('there is no such job');
    if (final.has(job.status)) return job.status;
    await setTimeout(200);
  }
}

async function* jobsOfLineage(id: string) {
  for (let after: string | null = null, more = true; more; ) {
    const { lineage }: LineageQuery = await request(Lineage, { id, after });
    if (!lineage) throw new Error('there is no such job');
    yield* lineage.jobs.nodes;
    ({ endCursor: after, hasNextPage: more } = lineage.jobs.pageInfo);
  }
}

const submitted = await request(Submit, { input: { requestPayload, idempotencyKey: randomUUID() } });
const source = accepted(submitted.submitJob).job;
const cancelled = await request(Cancel, { input: { jobRecordId: source.id, idempotencyKey: randomUUID() } });
console.log(`The job is ${accepted(cancelled.cancelJob).job.status}.`);

const replayed = await request(Replay, {
  input: { sourceJobRecordId: source.id, requestPayload, idempotencyKey: randomUUID() },
});
const replay = accepted(replayed.replayJob).job;
console.log(`Its replay, generation ${replay.replayGeneration}, is ${await ended(replay.id)}.`);

for await (const job of jobsOfLineage(replay.id)) console.log(`${job.replayGeneration} ${job.status}`);
