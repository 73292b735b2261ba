// The public GraphQL API, as the pages use it.

const url = '/graphql';

function request(accept, query, variables, signal) {
  return fetch(url, {
    method: 'POST',
    headers: { Accept: accept, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    signal,
  });
}

function dataOf({ data, errors }) {
  if (errors) throw new Error(errors[0].message);
  return data;
}

// ask runs a query and returns its data. It throws when the server can't be reached, or answers with an error.
export async function ask(query, variables) {
  const response = await request('application/json', query, variables);
  return dataOf(await response.json());
}

// subscribe yields the data of each event of a subscription, over server-sent events, until the signal aborts it. It returns
// when the server completes the subscription or the connection breaks, and throws when the server does not stream or answers
// with an error.
export async function* subscribe(query, variables, signal) {
  const response = await request('text/event-stream', query, variables, signal);
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) throw new Error('No stream');
  for await (const { event, data } of eventsOf(response.body)) {
    if (event === 'complete') return;
    if (event === 'next') yield dataOf(JSON.parse(data));
  }
}

// eventsOf reads server-sent events, each of which ends with an empty line.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop();
    yield* blocks.map(eventOf);
  }
}

// eventOf reads the fields of one event: "name: value" on each line.
function eventOf(block) {
  return Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/, 2)));
}

// latest yields what came last from a stream, and leaves out what came before it while the reader was busy.
export async function* latest(stream) {
  let news, wake;
  let ended = false;
  const reading = (async () => {
    for await (const value of stream) {
      news = { value };
      wake?.();
    }
  })().finally(() => {
    ended = true;
    wake?.();
  });
  reading.catch(() => {}); // an error is thrown below, once the reader has time for it
  for (;;) {
    if (news) {
      const { value } = news;
      news = undefined;
      yield value;
    } else if (ended) {
      return reading;
    } else {
      await new Promise((resolve) => (wake = resolve));
    }
  }
}
