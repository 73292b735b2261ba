import assert from 'node:assert/strict';

import { elsewhere, keepPicture, setting, visit } from './browser.js';

const { jobs } = setting;
const editor = (page) => page.locator('.graphiql-query-editor');
const answer = (page) => page.locator('.result-window');

visit('the tabs are ready, a field is completed from introspection, and a query runs', async (page) => {
  await page.goto('/playground');
  await page.getByRole('tab', { name: 'Submit' }).waitFor();
  for (const name of ['Submit', 'Cancel', 'Replay', 'Lineage', 'Follow']) {
    assert.equal(await page.getByRole('tab', { name }).count(), 1, name);
  }

  await editor(page).locator('.view-line').first().click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(`{ lineage(jobRecordId: "${jobs.single}") { job { status recordCount } jobC`);
  await page.locator('.suggest-widget').getByText('jobCount').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Prettify' }).click();
  await editor(page).locator('.view-line').nth(6).waitFor();
  await page.getByRole('button', { name: 'Execute' }).click();
  await answer(page).getByText('"jobCount"').waitFor();
  await editor(page).locator('.view-line').nth(6).click();
  await page.keyboard.press('Control+Home');
  await keepPicture(page, 'playground');
});

visit('a subscription shows each change', async (page) => {
  const { jobRecordId } = await elsewhere('POST', '/api/etl/jobs', 'playground-job', setting.batch);
  await page.goto('/playground');
  await editor(page).getByText('submitJob').first().waitFor();
  await page.getByRole('tab', { name: 'Follow' }).click();
  await editor(page).getByText('jobChanged').first().waitFor();
  await page.locator('.graphiql-editor-tool').getByText('"the id of a job"').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(`{"jobRecordId": "${jobRecordId}`); // the editor closes the quotes and the brace
  await page.getByRole('button', { name: 'Execute' }).click();
  await answer(page).getByText('"PENDING"').waitFor();
  await elsewhere('POST', `/api/etl/jobs/${jobRecordId}/cancellation`, 'playground-cancel');
  await answer(page).getByText('"CANCELLED"').waitFor();
});
