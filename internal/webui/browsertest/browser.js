// A browser that is signed in, and that a test fails with when a page complains or asks another host.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

export const setting = JSON.parse(process.env.SETTING);
const { url, user, password } = setting;

const browser = await chromium.launch({ executablePath: setting.chromium, args: ['--no-sandbox'] });
after(() => browser.close());

// patience is how long a test waits for something that normally happens at once, in milliseconds.
const patience = 60_000;

// visit runs a test with a page of its own. The options are those of a playwright context.
export function visit(name, body, options = {}) {
  test(name, { timeout: 4 * patience }, async () => {
    const context = await browser.newContext({
      baseURL: url, httpCredentials: { username: user, password }, viewport: { width: 1360, height: 860 }, ...options,
    });
    context.setDefaultTimeout(patience);
    const complaints = [];
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    context.on('weberror', (error) => complaints.push(String(error.error())));
    context.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (origin !== url && !['data:', 'blob:'].includes(protocol)) complaints.push(`asked ${request.url()}`);
    });
    try {
      await body(await context.newPage());
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  });
}

// elsewhere calls the REST API as another client would.
export async function elsewhere(method, path, key, body) {
  const response = await fetch(url + path, {
    method,
    body,
    headers: {
      Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': `"${key}"`,
    },
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

// assertAccessible judges a page by the rules of axe.
export async function assertAccessible(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]), []);
}

// keepPicture saves what a page looks like, when pictures are wanted.
export async function keepPicture(page, name) {
  if (setting.screenshots) await page.screenshot({ path: path.join(setting.screenshots, `${name}.png`) });
}
