import { saveMermaid, saveProvenance, saveSVG } from './downloads.js';
import { watch } from './family.js';
import { Picture } from './picture.js';
import { openOnSubmit } from './search.js';
import { badge, fillTable, make } from './table.js';
import { count, shortId, statuses } from './words.js';

const element = (id) => document.getElementById(id);
const id = location.pathname.split('/').at(-1);
const picture = new Picture(element('tree'));
const rowsAtOnce = 100;
let rows = rowsAtOnce;

const messages = {
  unknown: 'There is no such job. Perhaps its id is not complete, or the job belongs to another owner or is no longer kept.',
  lost: 'The server does not answer. The page keeps trying.',
};
const liveness = { loading: 'Loading …', live: 'Live', resting: 'At rest: no job is active', lost: 'Not up to date' };

function show(family, state) {
  element('message').textContent = messages[state] ?? '';
  element('live').textContent = liveness[state] ?? '';
  element('live').className = state;
  if (state === 'unknown' || !family.counts) return;
  element('lineage').hidden = false;
  showSummary(family);
  picture.show(family, state !== 'loading');
  showTable(family);
  if (state !== 'loading') announce(family);
}

function showSummary(family) {
  element('size').textContent = `${count(family.jobCount, 'job')} in ${count(family.generationCount, 'generation')}`;
  const present = Object.keys(statuses).filter((status) => family.counts[status]);
  element('counts').replaceChildren(
    ...present.map((status) => make('li', {}, badge(status), ` ${family.counts[status].toLocaleString('en')}`)),
  );
  element('cut').hidden = !family.truncated;
  element('cut').textContent = 'The family is so large that only its beginning is shown. The numbers count all of it.';
}

function showTable(family) {
  const jobs = family.jobs;
  const more = element('more-rows');
  fillTable(element('jobs'), jobs.slice(0, rows), family.id);
  more.hidden = jobs.length <= rows;
  more.textContent = `Show more of the ${count(jobs.length - rows, 'other job')}`;
  more.onclick = () => {
    rows += rowsAtOnce;
    showTable(family);
  };
}

let announced;

// announce tells a screen reader what has changed since it was called before.
function announce(family) {
  const now = new Map(family.jobs.map((job) => [job.id, job.status]));
  const changed = announced ? [...now].filter(([job, status]) => announced.get(job) !== status) : [];
  announced = now;
  if (changed.length > 3) element('news').textContent = `${changed.length} jobs have changed.`;
  else if (changed.length) element('news').textContent = changed.map(sentence).join(' ');
}

function sentence([job, status]) {
  return `Job ${shortId(job)} is ${statuses[status].word.toLowerCase()}.`;
}

element('job').textContent = id;
document.title = `Lineage of ${shortId(id)} · Fencepost`;
openOnSubmit(element('search'));
const file = `lineage-${id}`;
element('download-svg').addEventListener('click', () => saveSVG(picture.svg, file));
element('download-mermaid').addEventListener('click', () => saveMermaid(id, file));
element('download-provenance').addEventListener('click', () => saveProvenance(id, file));
watch(id, show);
