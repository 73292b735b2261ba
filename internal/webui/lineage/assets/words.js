// How the pages say things.

// statuses in the order of a job's life, each with a word and a sign, so that none is told by its colour alone.
export const statuses = {
  PENDING: { word: 'Pending', sign: '○' },
  RUNNING: { word: 'Running', sign: '▶' },
  SUCCEEDED: { word: 'Succeeded', sign: '✓' },
  FAILED: { word: 'Failed', sign: '✕' },
  CANCELLED: { word: 'Cancelled', sign: '⊘' },
};

const wholeNumber = new Intl.NumberFormat('en');

// count says "1 job" or "2,000 jobs".
export function count(n, noun) {
  return `${wholeNumber.format(n)} ${noun}${n === 1 ? '' : 's'}`;
}

// shortId is the end of an id: its beginning is a time, which the jobs of one family may share.
export function shortId(id) {
  return `…${id.slice(-8)}`;
}

// codeOf tells why a job failed or was cancelled; it is empty for every other job.
export function codeOf(job) {
  return job.failureCode ?? job.cancellationCode ?? '';
}

const shortTimes = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZone: 'UTC',
});

// shortTime is a point in time without the year, in UTC.
export function shortTime(text) {
  return shortTimes.format(new Date(text)).replace(',', '');
}

// longTime is a point in time to the second, in UTC.
export function longTime(text) {
  return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}

// tally says "3 failed, 1 cancelled" for numbers by status.
export function tally(numbers) {
  return Object.keys(statuses)
    .filter((status) => numbers[status])
    .map((status) => `${wholeNumber.format(numbers[status])} ${statuses[status].word.toLowerCase()}`)
    .join(', ');
}
