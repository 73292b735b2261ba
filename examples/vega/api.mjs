// The four calls of the REST interface that the example needs.
const url = process.env.FENCEPOST_URL ?? 'http://127.0.0.1:8080';
const user = process.env.FENCEPOST_USER ?? 'operator';
const credentials = Buffer.from(`${user}:${process.env.FENCEPOST_PASSWORD ?? ''}`).toString('base64');

async function call(method, path, { key, body } = {}) {
  const headers = { Authorization: `Basic ${credentials}` };
  if (key) Object.assign(headers, { 'Content-Type': 'application/json', 'Idempotency-Key': `"${key}"` });
  const response = await fetch(url + path, { method, headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.errorCode}`);
  return { ...answer, retryAfter: Number(response.headers.get('Retry-After')) };
}

export const submit = (key, body) => call('POST', '/api/etl/jobs', { key, body });
export const replay = (id, key, body) => call('POST', `/api/etl/jobs/${id}/replays`, { key, body });
export const lineage = (id) => call('GET', `/api/etl/jobs/${id}/lineage`);

/** Asks for a job until it has ended, as often as the server says. */
export async function ended(id) {
  for (;;) {
    const job = await call('GET', `/api/etl/jobs/${id}`);
    if (!job.retryAfter) return job;
    await new Promise((resolve) => setTimeout(resolve, job.retryAfter * 1000));
  }
}
