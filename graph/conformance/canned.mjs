// The schema in graphql-js, answered from what the server itself said about its jobs. What is left to compare is how a
// document and its variables are read, validated and executed.
import { readFileSync } from 'node:fs';
import { GraphQLError, buildSchema } from 'graphql';

const STATUSES = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'];
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;
const JOB_SCALARS = `id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt cancelledAt
  replayGeneration canCancel cancelProblem canReplay replayProblem`;
const EVERYTHING = `{
  jobs(first: 100) { nodes { ${JOB_SCALARS} replaySource { id } replayRoot { id }
    lineage { generationCount truncated } } }
  unresolved: jobs(first: 100, filter: { unresolved: true }) { nodes { id } }
}`;

export async function canned(post) {
  const { data } = await post({ query: EVERYTHING });
  const unresolved = new Set(data.unresolved.nodes.map((job) => job.id));
  const jobs = data.jobs.nodes.map((row) => toJob(row, () => jobs));
  const byId = ({ id, jobRecordId }) => jobs.find((job) => job.id === (id ?? jobRecordId)) ?? null;
  const listed = (filter) => jobs.filter((job) => passes(job, filter ?? {}, unresolved));
  return {
    schema: schemaOf(),
    rootValue: {
      job: byId,
      node: byId,
      lineage: (args) => byId(args)?.lineage() ?? null,
      jobs: ({ filter, first, after }) => page(listed(filter), first ?? 50, after),
      jobStatusCounts: ({ filter }) => counts(listed(filter)),
    },
  };
}

function schemaOf() {
  const schema = buildSchema(readFileSync(new URL('../../schema.graphqls', import.meta.url), 'utf8'));
  const dateTime = schema.getType('DateTime');
  dateTime.parseValue = (value) => {
    if (typeof value !== 'string' || !DATE_TIME.test(value) || Number.isNaN(Date.parse(value))) throw new GraphQLError('no DateTime');
    return value;
  };
  dateTime.parseLiteral = (node) => dateTime.parseValue(node.kind === 'StringValue' ? node.value : null);
  return schema;
}

function toJob(row, all) {
  const find = (ref) => (ref ? all().find((job) => job.id === ref.id) : null);
  const job = {
    ...row,
    __typename: 'Job',
    replaySource: () => find(row.replaySource),
    replayRoot: () => find(row.replayRoot),
    replays: ({ first, after }) => page(oldestFirst(all().filter((other) => other.source === row.id)), first ?? 20, after),
    attempts: ({ first, after }) => page([], first ?? 20, after),
    lineage: () => lineageOf(job, row.lineage, all()),
    source: row.replaySource?.id,
    root: row.replayRoot?.id ?? row.id,
  };
  return job;
}

function lineageOf(job, told, all) {
  const family = oldestFirst(all.filter((other) => other.root === job.root));
  family.sort((a, b) => a.replayGeneration - b.replayGeneration);
  const ancestry = [job];
  while (ancestry[0].source) ancestry.unshift(family.find(({ id }) => id === ancestry[0].source));
  return {
    ...told,
    job,
    root: ancestry[0],
    ancestry,
    jobCount: family.length,
    statusCounts: counts(family),
    jobs: ({ first, after }) => page(family, first ?? 100, after),
    edges: family.filter((derived) => derived.source).map((derived) => ({
      source: family.find(({ id }) => id === derived.source), derived, generation: derived.replayGeneration,
    })),
  };
}

function oldestFirst(jobs) {
  return jobs.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function passes(job, { status, replay, unresolved, createdAfter, createdBefore }, theUnresolved) {
  return (!status?.length || status.includes(job.status))
    && (replay == null || replay === Boolean(job.source))
    && (unresolved == null || unresolved === theUnresolved.has(job.id))
    && (createdAfter == null || job.createdAt > createdAfter)
    && (createdBefore == null || job.createdAt < createdBefore);
}

function page(jobs, first, after) {
  if (first < 1 || first > 100 || after) throw new GraphQLError('no such page');
  const nodes = jobs.slice(0, first);
  return { nodes, edges: nodes.map((node) => ({ node })), pageInfo: { hasNextPage: jobs.length > first, hasPreviousPage: false } };
}

function counts(jobs) {
  return STATUSES.map((status) => ({ status, count: jobs.filter((job) => job.status === status).length, atLeast: false }));
}
