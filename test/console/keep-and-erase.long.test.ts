import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  barriersOf,
  CHROMIUM,
  NO_CHROMIUM,
  openBrowser,
  overflowOf,
  signIn,
  visit,
  watchedPage,
} from './browser.js';
import { ConsoleMesh, ROOT } from './console-mesh.js';

describe('versions, times and erasures in the console of two nodes', {
  skip: CHROMIUM === null ? NO_CHROMIUM : false,
}, () => {
  let mesh: ConsoleMesh;
  let browser: Browser;

  before(async () => {
    mesh = await ConsoleMesh.open(['one', 'two']);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await mesh?.close();
  });

  async function opened(agent: string, address: string, width = 1200) {
    const watched = await watchedPage(browser, mesh.origin(), { width });
    await signIn(watched.page, mesh.origin(), agent);
    await visit(watched.page, address);
    return watched;
  }

  it('lists the versions with their writers, compares two, and brings one back', async () => {
    const id = await mesh.store('Deploy day', { content: 'We deploy on Sundays.' });
    await mesh.send('PUT', `/memories/${id}`, { content: 'We deploy on Mondays.', priority: 9 });
    await mesh.send('PUT', `/memories/${id}`, { content: 'We deploy on Tuesdays.' });
    const { page, problems } = await opened('ai:alice', `/console/memories/${id}`);
    const versions = page.locator('ol[reversed] > li');
    await versions.nth(2).waitFor();
    assert.match((await versions.nth(0).textContent()) ?? '', /Version 3: update, .* by ai:alice on /);
    const form = page.getByRole('form', { name: 'Compare two versions' });
    await form.getByLabel('Before').selectOption({ index: 2 });
    await form.getByLabel('After').selectOption({ index: 1 });
    await form.getByRole('button', { name: 'Compare' }).click();
    const differs = page.getByRole('table', { name: 'What differs' });
    await differs.getByRole('row', { name: 'priority 5 9' }).waitFor();
    const diff = page.locator('section > .diff');
    await diff.locator('.gone').getByText('We deploy on Sundays.').waitFor();
    await diff.locator('.new').getByText('We deploy on Mondays.').waitFor();
    assert.deepEqual(await barriersOf(page), []);
    await versions.nth(2).getByRole('button').click();
    await page.locator('main p.text').getByText('We deploy on Sundays.').waitFor();
    await versions.nth(3).waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('sets since when and until when a memory holds, refuses an end before the beginning, and opens an end', async () => {
    const id = await mesh.store('The office is in Berlin');
    const { page, problems } = await opened('ai:alice', `/console/memories/${id}`);
    const held = async () => {
      const { memory } = await mesh.send('GET', `/memories/${id}`);
      const { valid_from = null, valid_until = null } = memory as Readonly<Record<string, unknown>>;
      return [valid_from, valid_until];
    };
    const local = (text: string) => new Date(text).toISOString();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Holds since').fill('2020-01-01T08:00');
    await page.getByLabel('Holds until').fill('2019-01-01T08:00');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('VALIDATION_FAILED').waitFor();
    await page.getByLabel('Holds until').fill('2024-06-01T08:00');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('dl').getByText('2024-06-01 08:00').waitFor();
    const [since, until] = await held();
    assert.equal(Date.parse(String(since)), Date.parse(local('2020-01-01T08:00')));
    assert.equal(Date.parse(String(until)), Date.parse(local('2024-06-01T08:00')));
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Holds until').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('dl').getByText('2024-06-01 08:00').waitFor({ state: 'detached' });
    assert.deepEqual((await held()).slice(1), [null]);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('erases only after a question, says where it is done and what it does not reach', async () => {
    const id = await mesh.store('Phone of Ada', { namespace: 'people' });
    await mesh.mesh.drain(60_000);
    await mesh.node(0).must(['backup', '--to', join(mesh.node(0).home, 'backups')]);
    await mesh.node(1).end('SIGTERM');
    const { page, problems } = await opened('ai:alice', `/console/memories/${id}`, 390);
    await page.getByRole('button', { name: 'Erase …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This cannot be undone.').waitFor();
    assert.deepEqual(await barriersOf(page), []);
    assert.ok((await overflowOf(page)) <= 0);
    const erase = dialog.getByRole('button', { name: 'Erase everywhere' });
    assert.equal(await erase.isDisabled(), true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await mesh.send('GET', `/memories/${id}`);
    await page.getByRole('button', { name: 'Erase …' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByLabel('I know that nothing brings it back').focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await dialog.getByText('It is gone on 1 of 2 nodes.').waitFor();
    await mesh.node(1).start();
    await dialog.getByText('It is gone on all 2 nodes.').waitFor({ timeout: 60_000 });
    assert.deepEqual(await barriersOf(page), []);
    await dialog.getByRole('link', { name: 'All erasures' }).click();
    await page.getByRole('heading', { level: 1, name: 'Erasures' }).waitFor();
    const row = page.getByRole('table', { name: 'Erased memories' }).getByRole('row').filter({ hasText: id });
    await row.getByText('gone on all 2 nodes').waitFor();
    await row.getByText('ai:alice').waitFor();
    await page.getByText('None that this node knows of').waitFor();
    assert.ok((await overflowOf(page)) <= 0);
    await page.getByLabel('Show', { exact: true }).selectOption('open');
    await page.getByText('None of them waits.').waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('all');
    await page.getByRole('link', { name: id }).click();
    await page.getByText('It is gone on all 2 nodes.').waitFor();
    await visit(page, `/console/memories/${id}`);
    await page.getByText('It was erased and cannot come back.').waitFor();
    const admin = await opened(ROOT, '/console/erasures');
    const files = admin.page.getByRole('table', { name: 'Backups and exports from before' });
    await files
      .getByRole('row')
      .filter({ hasText: 'backups' })
      .getByText('Backup', { exact: true })
      .waitFor();
    await admin.page.context().close();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('erases one in the archive, shows others nothing of it, and refuses who may not', async () => {
    const id = await mesh.store('Old address of Ada', { namespace: 'people' });
    const other = await opened('ai:bob', `/console/memories/${id}`);
    await other.page.getByRole('button', { name: 'Erase …' }).click();
    await other.page.getByText('It belongs to ai:alice').waitFor();
    await other.page.getByLabel('I know that nothing brings it back').check();
    await other.page.getByRole('button', { name: 'Erase everywhere' }).click();
    await other.page.getByRole('dialog').getByRole('alert').waitFor();
    await mesh.send('GET', `/memories/${id}`);
    await mesh.send('POST', '/archive', { ids: [id], reason: 'test' });
    const { page } = await opened('ai:alice', `/console/memories/${id}`);
    await page.getByRole('button', { name: 'Erase …' }).click();
    await page.getByLabel('I know that nothing brings it back').check();
    await page.getByRole('button', { name: 'Erase everywhere' }).click();
    await page.getByRole('dialog').getByText('It is gone on').waitFor();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('heading', { level: 1, name: 'Memories' }).waitFor();
    await visit(other.page, '/console/erasures');
    await other.page.getByText('Nothing was erased.').waitFor();
    await page.context().close();
    await other.page.context().close();
  });
});
