import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { assertAccessible, elsewhere, keepPicture, setting, visit } from './browser.js';

const { jobs } = setting;
const item = (page, id) => page.locator(`[data-key="${id}"]`);
const live = (page) => page.locator('#live');
const focusedKey = (page) => page.evaluate(() => document.activeElement.dataset.key);

visit('a single job is drawn, at rest, and in the table', async (page) => {
  await page.goto(`/lineage/${jobs.single}`);
  await live(page).getByText('At rest').waitFor();
  assert.equal(await page.getByRole('treeitem').count(), 1);
  await page.getByRole('treeitem', { name: /Succeeded ….{8} .* · 1 attempt requested$/ }).waitFor();
  assert.equal(await page.locator('tbody tr[aria-current]').count(), 1);
  assert.equal(await page.locator('#size').textContent(), '1 job in 1 generation');
});

visit('each status is drawn in words, with codes and attempts', async (page) => {
  await page.goto(`/lineage/${jobs.family}`);
  await live(page).getByText('Live').waitFor();
  for (const word of ['Pending', 'Running', 'Succeeded', 'Failed', 'Cancelled']) {
    assert.equal(await page.locator('.tree .status', { hasText: word }).count(), 1, word);
    assert.equal(await page.locator('#counts li', { hasText: `${word} 1` }).count(), 1, word);
  }
  assert.equal(await page.locator('.tree .code', { hasText: 'etl_target_failure' }).count(), 1);
  assert.equal(await page.locator('.tree .code', { hasText: 'etl_job_cancelled_by_owner' }).count(), 1);
  await assertAccessible(page);
  await keepPicture(page, 'lineage');
});

visit('dark is dark', async (page) => {
  await page.goto(`/lineage/${jobs.family}`);
  await live(page).getByText('Live').waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(18, 21, 31)');
  await assertAccessible(page);
  await keepPicture(page, 'lineage-dark');
}, { colorScheme: 'dark' });

visit('a cancellation made elsewhere appears without a reload, and the focus stays', async (page) => {
  await page.goto(`/lineage/${jobs.chainEnd}`);
  await live(page).getByText('Live').waitFor();
  assert.equal(await page.getByRole('treeitem').count(), 101);
  await page.evaluate(() => (window.notReloaded = true));
  await item(page, jobs.chainEnd).focus();

  await elsewhere('POST', `/api/etl/jobs/${jobs.chainEnd}/cancellation`, 'elsewhere-cancel');
  await item(page, jobs.chainEnd).getByText('Cancelled').first().waitFor();
  await live(page).getByText('At rest').waitFor();
  assert.match(await page.locator('#news').textContent(), /^Job ….{8} is cancelled\.$/);
  assert.equal(await focusedKey(page), jobs.chainEnd);
  assert.ok(await page.evaluate(() => window.notReloaded));
});

visit('a new replay of an active family appears', async (page) => {
  await page.goto(`/lineage/${jobs.pending}`);
  await live(page).getByText('Live').waitFor();
  const { jobRecordId } = await elsewhere('POST', `/api/etl/jobs/${jobs.family}/replays`, 'elsewhere-replay', setting.batch);
  await item(page, jobRecordId).waitFor();
  assert.equal(await page.locator('#size').textContent(), '6 jobs in 2 generations');
});

visit('a hidden page holds no connection, and catches up when it is shown', async (page) => {
  const setVisibility = (state) => page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);
  const { jobRecordId } = await elsewhere('POST', '/api/etl/jobs', 'hidden-submit', setting.batch);
  const streaming = page.waitForResponse(async (response) => (await response.headerValue('Content-Type')).startsWith('text/event-stream'));
  await page.goto(`/lineage/${jobRecordId}`);
  const stream = await streaming;
  await Promise.all([page.waitForEvent('requestfailed', (request) => request === stream.request()), setVisibility('hidden')]);
  await elsewhere('POST', `/api/etl/jobs/${jobRecordId}/cancellation`, 'hidden-cancel');
  await setVisibility('visible');
  await item(page, jobRecordId).getByText('Cancelled').first().waitFor();
});

visit('a tree of 2,000 is loaded page by page, gathered, and opened step by step', async (page) => {
  await page.goto(`/lineage/${jobs.treeLeaf}`);
  await live(page).getByText('At rest').waitFor();
  assert.equal(await page.locator('#size').textContent(), '2,000 jobs in 3 generations');
  assert.equal(await page.getByRole('treeitem').count(), 1 + 6 + 6);
  assert.ok(await item(page, jobs.treeLeaf).evaluate((element) => {
    const [spot, frame] = [element, document.getElementById('tree')].map((part) => part.getBoundingClientRect());
    return spot.left >= frame.left && spot.right <= frame.right;
  }));
  assert.equal(await page.locator('.tree .edge.ancestry').count(), 2);
  await page.getByRole('treeitem', { name: '1,493 more jobs 995 failed, 498 cancelled' }).waitFor();
  await keepPicture(page, 'lineage-tree');

  await page.getByRole('treeitem', { name: '1,493 more jobs' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('treeitem', { name: '1,469 more jobs' }).waitFor();
  assert.equal(await page.getByRole('treeitem').count(), 1 + 6 + 24 + 6);
  await page.keyboard.press('ArrowRight');
  assert.match(await focusedKey(page), /^[0-9a-f-]{36}$/);

  await page.getByRole('button', { name: 'Show more of the 1,900 other jobs' }).click();
  assert.equal(await page.locator('tbody tr').count(), 200);
});

visit('the arrow keys walk the tree, and Enter opens a job', async (page) => {
  await page.goto(`/lineage/${jobs.family}`);
  await live(page).getByText('Live').waitFor();
  await page.locator('#download-provenance').focus();
  await page.keyboard.press('Tab');
  assert.equal(await focusedKey(page), jobs.family);
  await page.keyboard.press('ArrowDown');
  const child = await focusedKey(page);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await focusedKey(page), child);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await focusedKey(page), child);
  await page.keyboard.press('ArrowUp');
  assert.equal(await focusedKey(page), jobs.family);
  await page.keyboard.press('End');
  const last = await focusedKey(page);
  await page.keyboard.press('Home');
  assert.equal(await focusedKey(page), jobs.family);
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.waitForURL(`/lineage/${last}`);
});

visit('the lineage can be downloaded', async (page) => {
  await page.goto(`/lineage/${jobs.single}`);
  await live(page).getByText('At rest').waitFor();
  const download = async (name) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
  };
  const svg = await download('SVG');
  assert.equal(svg.name, `lineage-${jobs.single}.svg`);
  assert.match(svg.text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg".*<style>.*prefers-color-scheme.*Succeeded/s);
  const mermaid = await download('Mermaid');
  assert.equal(mermaid.name, `lineage-${jobs.single}.mmd`);
  assert.match(mermaid.text, /^flowchart TD\n/);
  const provenance = await download('PROV-JSON-LD');
  assert.equal(provenance.name, `lineage-${jobs.single}.jsonld`);
  assert.ok(JSON.parse(provenance.text)['@context']);
});

visit('an unknown job is said to be unknown', async (page) => {
  await page.goto('/lineage/no-such-job%E0');
  await page.getByRole('alert').getByText('There is no such job.').waitFor();
  assert.equal(await page.getByRole('tree').count(), 0);
});

visit('the search box opens a lineage, and the latest jobs are listed', async (page) => {
  await page.goto('/lineage');
  await page.getByRole('heading', { name: 'Latest jobs' }).waitFor();
  assert.equal(await page.locator('tbody tr').count(), 20);
  await assertAccessible(page);
  await keepPicture(page, 'lineage-search');
  await page.getByLabel('Job id').fill(` ${jobs.single.toUpperCase()} `);
  await page.keyboard.press('Enter');
  await page.waitForURL(`/lineage/${jobs.single}`);
  await item(page, jobs.single).waitFor();
});
