import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext } from 'playwright-core';
import { temporaryFolder } from '../support/daemon-process.js';
import { CHROMIUM, KEY, NO_CHROMIUM, openBrowser, openProfile, signIn, visit, watch } from './browser.js';
import { ConsoleMesh, ROOT } from './console-mesh.js';
import { HOSTILE, HOSTILE_NAME } from './seeded-mesh.js';

const TENANTS = ['ai:alice', 'ai:bob'] as const;

describe('tenants and keys of the console in a browser', {
  skip: CHROMIUM === null ? NO_CHROMIUM : false,
}, () => {
  let mesh: ConsoleMesh;
  let browser: Browser;

  before(async () => {
    mesh = await ConsoleMesh.open(['one'], { SVC_LOG_LEVEL: 'debug' });
    for (const agent of TENANTS) {
      await mesh.store(`Only of ${agent}`, { scope: 'private', namespace: `own/${agent}` }, { agent });
      await mesh.send(
        'POST',
        '/notify',
        { target_agent_id: agent, title: `To ${agent}`, payload: 'p' },
        { agent: ROOT },
      );
    }
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await mesh?.close();
  });

  async function tab(context: BrowserContext, agent: string) {
    const page = await context.newPage();
    const watched = await watch(page, mesh.origin());
    await signIn(page, mesh.origin(), agent);
    return watched;
  }

  it('shows two tenants in two tabs of one browser only what is theirs, in every view', async () => {
    const context = await browser.newContext();
    const tabs = await Promise.all(TENANTS.map((agent) => tab(context, agent)));
    const views = [
      '/memories',
      '/memories?namespace=own/**',
      '/memories?mode=search&q=only',
      '/memories?mode=recall&q=only',
    ];
    for (const [index, { page }] of tabs.entries()) {
      const [own, other] = [TENANTS[index]!, TENANTS[1 - index]!];
      for (const view of views) {
        await visit(page, `/console${view}`);
        await page.getByText(`Only of ${own}`).first().waitFor();
        assert.equal(await page.getByText(`Only of ${other}`).count(), 0, view);
      }
      await visit(page, `/console/graph?namespace=own/${other}`);
      await page.getByText('0 memories, 0 of 0 links').waitFor();
      await visit(page, '/console/messages');
      await page.getByText(`To ${own}`).waitFor();
      assert.equal(await page.getByText(`To ${other}`).count(), 0);
      for (const view of ['conflicts', 'audit', 'health', 'room', 'secrets']) {
        await visit(page, `/console/${view}`);
        await page.getByText('ADMIN_REQUIRED').first().waitFor();
        assert.equal(await page.getByText(other).count(), 0, view);
      }
    }
    const found = await mesh.send('GET', '/memories?namespace=own/**', undefined, { agent: 'ai:bob' });
    const [{ id }] = found['memories'] as [{ id: string }];
    const [alice] = tabs;
    await visit(alice!.page, `/console/memories/${id}`);
    await alice!.page.getByText('NOT_FOUND').waitFor();
    assert.equal(await alice!.page.getByText('Only of ai:bob').count(), 0);
    for (const { problems } of tabs) assert.deepEqual(problems, []);
    await context.close();
  });

  it('shows nothing of one agent any more once another one looks in the same tab', async () => {
    const context = await browser.newContext();
    const { page } = await tab(context, 'ai:bob');
    await visit(page, '/console/messages');
    await page.getByText('To ai:bob').waitFor();
    // The node does not answer any more: what was shown must be gone all the same.
    await page.route('**/api/v1/**', () => undefined);
    await page.locator('header input').fill('ai:alice');
    await page.keyboard.press('Enter');
    await page.getByText('Reading the inbox').waitFor();
    assert.equal(await page.getByText('To ai:bob').count(), 0);
    await context.close();
  });

  it('asks for the key again when it is wrong or forgotten, and in each new tab', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${mesh.origin()}/console`);
    const gate = page.getByText('demands its API key');
    await page.getByLabel('API key', { exact: true }).last().fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('That was not the key').waitFor();
    assert.equal(await page.getByText('Only of').count(), 0);
    await signIn(page, mesh.origin(), 'ai:alice');
    const own = page.getByRole('link', { name: 'Only of ai:alice' });
    await own.waitFor();
    await page.reload();
    await own.waitFor();
    const other = await context.newPage();
    await other.goto(`${mesh.origin()}/console`);
    await other.getByText('demands its API key').waitFor();
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await gate.waitFor();
    await page.reload();
    await gate.waitFor();
    await context.close();
  });

  it('leaves the key in no address, no log and no storage that outlives the session', async () => {
    const folder = temporaryFolder('console-profile');
    const context = await openProfile(folder);
    const { page, addresses } = await tab(context, ROOT);
    for (const view of ['memories', 'approvals', 'messages', 'mesh', 'health']) {
      await visit(page, `/console/${view}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor();
    assert.ok(addresses.length > 15);
    assert.deepEqual(
      addresses.filter((address) => address.includes(KEY)),
      [],
    );
    const left = await page.evaluate(
      `(async () => ({ local: localStorage.length, name: window.name,
          state: JSON.stringify(history.state), databases: (await indexedDB.databases()).length, caches: (await caches.keys()).length }))()`,
    );
    assert.deepEqual(left, { local: 0, name: '', state: 'null', databases: 0, caches: 0 });
    // The half of the key in the cookie ends with the browser.
    const cookies = await context.cookies();
    assert.deepEqual(
      cookies.map(({ expires, path, sameSite }) => [expires, path, sameSite]),
      [[-1, '/console', 'Strict']],
    );
    const stored = String(await page.evaluate('JSON.stringify(sessionStorage)'));
    for (const text of [stored, JSON.stringify(cookies)]) assert.ok(!text.includes(KEY));
    await page.close();
    await context.close();
    assert.deepEqual(filesWith(folder, KEY), []);
    assert.ok(!mesh.logs().includes(KEY));
    assert.deepEqual(filesWith(mesh.node(0).home, KEY), []);
    const again = await openProfile(folder);
    const [first] = again.pages();
    assert.deepEqual(await again.cookies(), []);
    await first!.goto(`${mesh.origin()}/console`);
    await first!.getByText('demands its API key').waitFor();
    await again.close();
  });

  it('imports a file whose name and rows are hostile, and refuses one that is no export', async () => {
    const empty = await ConsoleMesh.open(['empty']);
    const context = await browser.newContext();
    const page = await context.newPage();
    const { problems } = await watch(page, empty.origin());
    await signIn(page, empty.origin(), ROOT);
    await page.getByText('No memories yet').waitFor();
    const file = (text: string) => ({
      name: `${HOSTILE_NAME.replace('/', '-')}.json`,
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    });
    const input = page.locator('input[type=file]');
    await input.setInputFiles(file(HOSTILE));
    await page.getByRole('alert').getByText('no export of mnemesh').waitFor();
    const exported = await mesh.send('GET', '/export', undefined, { agent: ROOT });
    const rows = (exported['memories'] as Record<string, unknown>[]).map((row) => ({
      ...row,
      title: `${HOSTILE} ${row['title']}`,
    }));
    await input.setInputFiles(file(JSON.stringify({ ...exported, memories: rows })));
    await page.getByRole('link').filter({ hasText: HOSTILE }).first().waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.deepEqual(problems, []);
    await context.close();
    await empty.close();
  });
});

/** The files below a folder that hold a text, in the encodings in which browsers keep texts. */
function filesWith(folder: string, text: string): readonly string[] {
  const forms = [Buffer.from(text), Buffer.from(text, 'utf16le')];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    const bytes = readFileSync(path);
    return forms.some((form) => bytes.includes(form));
  });
}
