import { ask } from './api.js';
import { openOnSubmit } from './search.js';
import { fillTable } from './table.js';

const element = (id) => document.getElementById(id);

const latestJobs = `{ jobs(first: 20) { nodes {
  id status attemptCount recordCount failureCode cancellationCode createdAt updatedAt replayGeneration replaySource { id }
} } }`;

openOnSubmit(element('search'));
try {
  const { jobs } = await ask(latestJobs);
  fillTable(element('jobs'), jobs.nodes);
  element('latest').hidden = jobs.nodes.length === 0;
} catch {
  element('message').textContent = 'The latest jobs can’t be shown now, because the server does not answer.';
}
