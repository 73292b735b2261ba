import { codeOf, longTime, shortId, statuses } from './words.js';

const columns = {
  Status: (job) => badge(job.status),
  Job: (job) => link(job.id, job.id),
  Generation: (job) => job.replayGeneration,
  'Replayed from': (job) => (job.replaySource ? link(job.replaySource.id, shortId(job.replaySource.id)) : ''),
  Attempts: (job) => job.attemptCount,
  Records: (job) => job.recordCount,
  'Created (UTC)': (job) => longTime(job.createdAt),
  'Changed (UTC)': (job) => longTime(job.updatedAt),
  Code: codeOf,
};

// fillTable shows jobs as the rows of a table, and marks the one with the id that was asked for.
export function fillTable(table, jobs, requested) {
  const head = make('thead', {}, make('tr', {}, ...Object.keys(columns).map((title) => make('th', { scope: 'col' }, title))));
  const body = make('tbody', {}, ...jobs.map((job) => row(job, job.id === requested)));
  table.replaceChildren(head, body);
}

function row(job, requested) {
  const cells = Object.values(columns).map((cell) => make('td', {}, cell(job)));
  return make('tr', requested ? { 'aria-current': 'true' } : {}, ...cells);
}

// badge is a status in colour and in words.
export function badge(status) {
  const { word, sign } = statuses[status];
  return make('span', { class: `badge ${status}` }, `${sign} ${word}`);
}

function link(id, text) {
  return make('a', { href: `/lineage/${id}`, class: 'id', title: id }, text);
}

// make is an HTML element.
export function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
