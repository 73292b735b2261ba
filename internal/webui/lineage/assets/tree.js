// The shape of a family's picture: which jobs are drawn, and where.

const shownInGeneration = 5; // jobs; the others are gathered in one item under their source

// treeOf returns the root of a tree of items, laid out from top to bottom. An item is { key, job, children, column } or, for
// jobs that are not drawn one by one, { key, hidden, numbers, children, column }. Opened holds the ids of jobs that are drawn
// in any case, if their sources are.
export function treeOf(family, opened) {
  const jobs = family.jobs;
  const replays = Map.groupBy(jobs, (job) => job.replaySource?.id);
  const numbers = numbersBelow(jobs);
  const root = itemOf(jobs[0]);
  for (let sources = [root]; sources.length > 0; ) {
    const candidates = sources.flatMap(({ key }) => replays.get(key) ?? []);
    const drawn = new Set([...mostTelling(candidates, family, replays), ...candidates.filter(({ id }) => opened.has(id))]);
    for (const source of sources) source.children = divide(source.key, replays.get(source.key) ?? [], drawn, numbers);
    sources = sources.flatMap(({ children }) => children.filter(({ job }) => job));
  }
  const outline = place(root);
  moveBy(root, -Math.min(...outline.map(({ left }) => left)));
  return root;
}

function itemOf(job) {
  return { key: job.id, job, children: [] };
}

// mostTelling picks what to draw of a generation: the way to the job that was asked for, then what is active, then what was
// replayed.
function mostTelling(jobs, family, replays) {
  const weight = ({ id, status }) =>
    (family.ancestry.includes(id) ? 4 : 0) +
    (status === 'PENDING' || status === 'RUNNING' ? 2 : 0) +
    (replays.has(id) ? 1 : 0);
  return jobs.toSorted((a, b) => weight(b) - weight(a)).slice(0, shownInGeneration);
}

// divide makes the items under a source. A single job takes no more room than the item that would stand for it.
function divide(source, replays, drawn, numbers) {
  const hidden = replays.filter((job) => !drawn.has(job));
  if (hidden.length < 2) return replays.map(itemOf);
  const rest = { key: `more-${source}`, hidden, numbers: sum(hidden.map(({ id }) => numbers.get(id))), children: [] };
  return [...replays.filter((job) => drawn.has(job)).map(itemOf), rest];
}

// numbersBelow counts each job and everything that was made from it, by status.
function numbersBelow(jobs) {
  const numbers = new Map(jobs.map(({ id, status }) => [id, { [status]: 1 }]));
  for (const { id, replaySource } of jobs.toReversed()) {
    if (replaySource) numbers.set(replaySource.id, sum([numbers.get(replaySource.id), numbers.get(id)]));
  }
  return numbers;
}

function sum(list) {
  const total = {};
  for (const numbers of list) {
    for (const [status, n] of Object.entries(numbers)) total[status] = (total[status] ?? 0) + n;
  }
  return total;
}

// place gives each item of a tree its column, children side by side and their parent over the middle of them. It returns the
// tree's outline: the leftmost and the rightmost column of each generation. The trees under two children are moved together
// until they would touch.
function place(item) {
  const outline = [];
  for (const child of item.children) {
    const own = place(child);
    const distance = Math.max(...own.map(({ left }, depth) => (outline[depth]?.right ?? -Infinity) + 1 - left));
    const shift = Number.isFinite(distance) ? distance : 0;
    moveBy(child, shift);
    own.forEach(({ left, right }, depth) => {
      outline[depth] = { left: outline[depth]?.left ?? left + shift, right: right + shift };
    });
  }
  const middle = outline.length ? (item.children.at(0).column + item.children.at(-1).column) / 2 : 0;
  item.column = middle;
  return [{ left: middle, right: middle }, ...outline];
}

function moveBy(item, shift) {
  item.column += shift;
  for (const child of item.children) moveBy(child, shift);
}
