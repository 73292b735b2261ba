import { ask, latest, subscribe } from './api.js';

const fragments = `
  fragment Row on Job {
    id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt replayGeneration replaySource { id }
  }
  fragment Page on JobConnection { nodes { ...Row } pageInfo { hasNextPage endCursor } }`;
const overviewFragment = `${fragments}
  fragment Overview on Lineage {
    jobCount generationCount truncated statusCounts { status count } ancestry { ...Row } jobs(first: 100) { ...Page }
  }`;
const overviewQuery = `query($id: ID!) { lineage(jobRecordId: $id) { ...Overview } } ${overviewFragment}`;
const changesQuery = `subscription($id: ID!) { lineageChanged(jobRecordId: $id) { ...Overview } } ${overviewFragment}`;
const pageQuery = `query($id: ID!, $after: String) {
  lineage(jobRecordId: $id) { jobs(first: 100, after: $after) { ...Page } }
} ${fragments}`;

// Family is what is known of a lineage.
export class Family {
  #jobs = new Map();

  // The job with this id was asked for.
  constructor(id) {
    this.id = id;
  }

  // learn takes in how large the lineage is, and the way from its root to the job that was asked for.
  learn({ jobCount, generationCount, truncated, statusCounts, ancestry }) {
    const counts = Object.fromEntries(statusCounts.map(({ status, count }) => [status, count]));
    Object.assign(this, { jobCount, generationCount, truncated, counts, ancestry: ancestry.map(({ id }) => id) });
    this.add(ancestry);
  }

  add(jobs) {
    for (const job of jobs) this.#jobs.set(job.id, job);
  }

  get(id) {
    return this.#jobs.get(id);
  }

  // jobs lists what is known, by generation and then by creation.
  get jobs() {
    const earlier = (a, b) => a.replayGeneration - b.replayGeneration || (a.id < b.id ? -1 : 1);
    return [...this.#jobs.values()].sort(earlier);
  }

  get active() {
    return this.counts.PENDING + this.counts.RUNNING > 0;
  }

  // complete reports whether the jobs that are known make up the counts. Then no job is missing, and none has ended unnoticed.
  get complete() {
    const known = Object.groupBy(this.#jobs.values(), ({ status }) => status);
    return Object.entries(this.counts).every(([status, count]) => (known[status]?.length ?? 0) === count);
  }
}

const interval = 2000; // milliseconds until the server is asked again, when it has stopped telling

// watch calls show(family, state) whenever something new is known about the family of a job. The state is "loading" when
// there is more to come at once, "live" while jobs are active, "resting" when none is, "lost" while the server does not
// answer, and "unknown" when there is no such job.
export async function watch(id, show) {
  const family = new Family(id);
  for (;;) {
    try {
      const { lineage } = await ask(overviewQuery, { id });
      if (!lineage) return show(family, 'unknown');
      await update(family, lineage, show);
      if (family.active) await follow(family, show);
      else await visibility('hidden'); // someone may make a replay meanwhile
    } catch (error) {
      console.error(error);
      show(family, 'lost');
    }
    await new Promise((resolve) => setTimeout(resolve, interval));
    await visibility('visible');
  }
}

// follow keeps a family up to date until its last job has ended, the server stops telling, or nobody looks any more: a browser
// only has a few connections to a server, for all of its tabs.
async function follow(family, show) {
  const stop = new AbortController();
  visibility('hidden').then(() => stop.abort());
  try {
    for await (const { lineageChanged } of latest(subscribe(changesQuery, { id: family.id }, stop.signal))) {
      await update(family, lineageChanged, show);
    }
  } catch (error) {
    console.warn(error);
  }
}

// update reads pages until nothing is missing.
async function update(family, overview, show) {
  family.learn(overview);
  let page = overview.jobs;
  for (;;) {
    family.add(page.nodes);
    if (!page.pageInfo.hasNextPage || family.complete) break;
    show(family, 'loading');
    const { lineage } = await ask(pageQuery, { id: family.id, after: page.pageInfo.endCursor });
    page = lineage.jobs;
  }
  show(family, family.active ? 'live' : 'resting');
}

// visibility waits until the page is "visible" or "hidden".
async function visibility(state) {
  while (document.visibilityState !== state) {
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
  }
}
