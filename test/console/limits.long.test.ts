import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  barriersOf,
  CHROMIUM,
  KEY,
  NO_CHROMIUM,
  openBrowser,
  overflowOf,
  signIn,
  visit,
  watchedPage,
} from './browser.js';
import { ConsoleMesh, ROOT } from './console-mesh.js';

const LIMIT = 4_000_000;

describe('tokens, secrets, room and what held then in the console of a node', {
  skip: CHROMIUM === null ? NO_CHROMIUM : false,
}, () => {
  let mesh: ConsoleMesh;
  let browser: Browser;

  before(async () => {
    mesh = await ConsoleMesh.open(['one'], { SVC_STORAGE_MAX_BYTES: String(LIMIT) });
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

  const seen = async (page: Page) => {
    assert.deepEqual(await barriersOf(page), []);
    assert.ok((await overflowOf(page)) <= 0);
  };

  /** What a node answers to who holds a token. */
  const withToken = async (token: string, path: string) => {
    const answer = await fetch(`${mesh.node(0).base}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  /** The token that the dialog shows once. */
  async function shownToken(page: Page): Promise<string> {
    const dialog = page.getByRole('dialog').filter({ hasText: 'it is shown once' });
    const token = await dialog.getByLabel('Token').inputValue();
    assert.match(token, /^mnt_/);
    await seen(page);
    await dialog.getByRole('button', { name: 'I have it' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(((await page.content()) + (await keptBy(page))).includes(token.slice(60)), false);
    return token;
  }

  const keptBy = (page: Page): Promise<string> =>
    page.evaluate('JSON.stringify({ ...sessionStorage }) + document.cookie + location.href');

  it('mints a token that is shown once, looks into it, narrows it and revokes it', async () => {
    await mesh.store('Of the team', { namespace: 'team/ops' });
    await mesh.store('Of others', { namespace: 'others' });
    const { page, problems } = await opened(ROOT, '/console/tokens', 390);
    await page.getByText('There is none.').waitFor();
    await page.getByRole('button', { name: 'Mint a token' }).click();
    await page.getByLabel('What it is for').fill('the helper');
    await page.getByLabel('Acts as').fill('ai:alice');
    await page.getByLabel('Namespaces').fill('team//x');
    await page.getByLabel(/^write:/).check();
    await page.getByRole('button', { name: 'Mint', exact: true }).click();
    await page.getByRole('alert').getByText('VALIDATION_FAILED').waitFor();
    await seen(page);
    await page.getByLabel('Namespaces').fill('team/**');
    await page.getByRole('button', { name: 'Mint', exact: true }).click();
    const token = await shownToken(page);
    const listed = page
      .getByRole('table', { name: 'Tokens' })
      .getByRole('row')
      .filter({ hasText: 'the helper' });
    await listed.getByText('read, write').waitFor();
    await listed.getByText('valid').waitFor();
    const { body } = await withToken(token, '/memories');
    assert.deepEqual(
      (body['memories'] as { title: string }[]).map(({ title }) => title),
      ['Of the team'],
    );
    await page.getByRole('textbox', { name: 'Token' }).fill(token);
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByText('It counts on this node.').waitFor();
    await page.locator('dl').getByText('ai:alice').waitFor();
    await page.getByText('Make a narrower token of it').click();
    await page.getByLabel(/^write:/).uncheck();
    await page.getByLabel('Namespaces that are left').fill('team/docs');
    await seen(page);
    await page.getByRole('button', { name: 'Narrow', exact: true }).click();
    const narrower = await shownToken(page);
    assert.deepEqual((await withToken(narrower, '/memories')).body['count'], 0);
    await listed.getByRole('button', { name: 'Revoke …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await listed.getByText('revoked').waitFor();
    for (const each of [token, narrower])
      assert.equal((await withToken(each, '/memories')).body['code'], 'TOKEN_REVOKED');
    await page.getByRole('textbox', { name: 'Token' }).fill(narrower);
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByText('It does not count here: the token was revoked.').waitFor();
    await page.getByRole('textbox', { name: 'Token' }).fill('mnt_nothing');
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByRole('alert').getByText('TOKEN_INVALID').waitFor();
    assert.equal(await page.getByText('ADMIN_REQUIRED').count(), 0);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('lets an agent mint for itself alone, and an admin revoke all', async () => {
    const { page } = await opened('ai:bob', '/console/tokens');
    await page.getByRole('button', { name: 'Mint a token' }).click();
    await page.getByLabel('Namespaces').fill('**');
    await page.getByLabel('Acts as').fill('ai:alice');
    await page.getByRole('button', { name: 'Mint', exact: true }).click();
    await page.getByRole('dialog').getByText('an agent mints for itself only').waitFor();
    await page.getByLabel('Acts as').fill('');
    await page.getByRole('button', { name: 'Mint', exact: true }).click();
    const token = await shownToken(page);
    assert.equal(await page.getByText('the helper').count(), 0, "another agent's token shows");
    const admin = await opened(ROOT, '/console/tokens');
    await admin.page.getByRole('button', { name: 'Revoke all tokens of this node …' }).click();
    const dialog = admin.page.getByRole('dialog');
    assert.equal(await dialog.getByRole('button', { name: 'Revoke', exact: true }).isDisabled(), true);
    await dialog.getByLabel('I mean every one of them').check();
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await withToken(token, '/memories')).status, 401);
    await page.context().close();
    await admin.page.context().close();
  });

  it('shows the kinds of secrets that were found, and none of the secrets', async () => {
    const secret = `gh${'p'}_${randomBytes(18).toString('hex')}`;
    await mesh.store('Deploy job', { content: `it uses ${secret}` });
    const { page, problems } = await opened(ROOT, '/console/secrets');
    await page.getByRole('table', { name: 'Modes' }).getByText('redact: it is stored without').waitFor();
    const found = page.getByRole('table', { name: 'Found secrets' }).getByRole('row');
    await found.filter({ hasText: 'github-token' }).getByText('redacted').waitFor();
    const events = page.getByRole('table', { name: 'Secrets in the audit chain' });
    await events.getByText('ai:alice').waitFor();
    assert.equal((await page.content()).includes(secret), false);
    await seen(page);
    await visit(page, '/console/memories?mode=search&q=deploy');
    await page.getByText('[redacted:github-token]').waitFor();
    assert.deepEqual(problems, []);
    const other = await opened('ai:bob', '/console/secrets');
    await other.page.getByText('ADMIN_REQUIRED').first().waitFor();
    assert.equal(await other.page.getByText('ai:alice').count(), 0);
    await page.context().close();
    await other.page.context().close();
  });

  it('lists, searches and recalls what held then, and marks what has ended', async () => {
    const office = (title: string, more: Record<string, string>) =>
      mesh.store(title, { namespace: 'office', content: `the office: ${title}`, ...more });
    await office('Berlin office', {
      valid_from: '2020-01-01T00:00:00Z',
      valid_until: '2024-06-01T00:00:00Z',
    });
    await office('Paris office', { valid_from: '2024-06-01T00:00:00Z' });
    const { page, problems } = await opened('ai:alice', '/console/memories?namespace=office');
    const row = (title: string) => page.getByRole('link', { name: title });
    await row('Paris office').waitFor();
    await row('Berlin office').getByText('(has ended)').waitFor();
    assert.equal(await row('Paris office').getByText('(has ended)').count(), 0);
    for (const mode of ['list', 'search', 'recall']) {
      await page.getByLabel('How', { exact: true }).selectOption(mode);
      if (mode !== 'list') await page.getByRole('searchbox').fill('office');
      await page.getByLabel('As of').fill('2022-03-01T12:00');
      await page.keyboard.press('Enter');
      await row('Paris office').waitFor({ state: 'detached' });
      await row('Berlin office').getByText('(has ended since)').waitFor();
      await seen(page);
      await page.getByLabel('As of').fill('');
      await page.getByRole('button', { name: 'Show' }).click();
      await row('Paris office').waitFor();
    }
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('shows the room, what goes first, and warns before the limit', async () => {
    const { page, problems } = await opened(ROOT, '/console/room');
    await page.getByText('4.0 MB').waitFor();
    await page.getByRole('table', { name: 'What goes first' }).waitFor();
    await page.getByText('Nothing ever went to make room.').waitFor();
    await seen(page);
    const content = randomBytes(20_000).toString('hex');
    for (let n = 0; n < 400; n += 1) {
      await mesh.store(`Filler ${n}`, { namespace: 'fill', content: `${n} ${content}`, tier: 'short' });
      const { used_bytes: used } = await mesh.send('GET', '/room', undefined, { agent: ROOT });
      if (Number(used) > LIMIT * 0.82) break;
    }
    await page.getByRole('button', { name: 'Look again' }).click();
    await page.getByRole('alert').getByText('It becomes full').waitFor();
    await seen(page);
    const other = await opened('ai:bob', '/console/room');
    await other.page.getByText('ADMIN_REQUIRED').waitFor();
    assert.deepEqual(problems, []);
    assert.ok(!(await keptBy(page)).includes(KEY));
    await page.context().close();
    await other.page.context().close();
  });

  it('shows a rule about reads in words', async () => {
    const matcher = JSON.stringify({ surface: 'export', namespace: 'hr/**' });
    await mesh
      .node(0)
      .must([
        'rules',
        'add',
        '--id',
        'no-export',
        '--kind',
        'read_action',
        '--matcher',
        matcher,
        '--reason',
        'here',
      ]);
    const { page } = await opened('ai:bob', '/console/rules');
    await page.getByRole('table', { name: 'Rules about reads' }).getByText('export of hr/**').waitFor();
    await seen(page);
    await page.context().close();
  });
});
