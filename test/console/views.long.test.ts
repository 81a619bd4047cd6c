import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
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

const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}';
const ROOT = 'ai:root';

describe('the console in a browser', { skip: CHROMIUM === null ? NO_CHROMIUM : false }, () => {
  let daemon: DaemonProcess;
  let browser: Browser;
  let base: string;
  const ids: string[] = [];

  async function send(method: string, path: string, body: unknown, agent = 'ai:alice') {
    const headers = { 'content-type': 'application/json', 'x-api-key': KEY, 'x-agent-id': agent };
    const answer = await fetch(`${base}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  const store = async (title: string, more: Record<string, unknown> = {}, agent?: string) => {
    const shared = { namespace: 'team/alpha', scope: 'collective', force: true };
    return String(
      (await send('POST', '/memories', { title, content: `about ${title}`, ...shared, ...more }, agent))[
        'id'
      ],
    );
  };

  before(async () => {
    const port = await freePort();
    daemon = await startDaemonProcess(temporaryFolder('console'), port, {
      SVC_API_KEY: KEY,
      SVC_ADMIN_AGENT_IDS: ROOT,
      SVC_REQUIRE_AGENT_ATTESTATION: '0',
    });
    base = `http://127.0.0.1:${port}`;
    for (let n = 0; n < 40; n += 1) ids.push(await store(`Deploy window ${n}`, { tags: ['ops'] }));
    for (let n = 1; n < 40; n += 1)
      await send('POST', '/links', { source_id: ids[n], target_id: ids[n >> 1], relation: 'related_to' });
    const hostile = { content: HOSTILE, tags: [HOSTILE.slice(0, 20)], namespace: 'evil/<i>ns' };
    ids.push(await store(`Hostile ${HOSTILE}`, hostile));
    await send('POST', '/links', { source_id: ids[40], target_id: ids[1], relation: 'contradicts' });
    await send('PUT', `/memories/${ids[1]}`, { content: 'changed once' });
    await send('POST', '/agents', { agent_id: 'ai:lead', agent_type: 'ai:lead' }, 'ai:lead');
    await send('POST', '/notify', { target_agent_id: ROOT, title: HOSTILE, payload: HOSTILE });
    await send('POST', '/signals', { namespace: 'team/alpha', subject: HOSTILE });
    await send(
      'POST',
      '/namespaces/gated/standard',
      { governance: { write: 'approve', approver: 'human' } },
      ROOT,
    );
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await daemon?.end('SIGTERM');
  });

  const VIEWS: readonly (readonly [string, string])[] = [
    ['/console/memories', 'Deploy window 39'],
    ['/console/memories?mode=search&q=window', 'Deploy window'],
    ['/console/memories?mode=recall&q=when+is+the+deploy+window', '(by '],
    ['/console/conflicts?namespace=evil%2F%3Ci%3Ens', 'Edits that lost'],
    ['/console/approvals', 'Nothing waits'],
    ['/console/rules?namespace=gated', 'everybody, after an approval'],
    ['/console/graph?namespace=team/alpha', '40 memories'],
    ['/console/board', HOSTILE],
    ['/console/messages', HOSTILE],
    ['/console/mesh', 'Last own operation'],
    ['/console/audit', 'It holds'],
    ['/console/health', 'svc_requests_inflight'],
  ];

  for (const [name, options] of [
    ['at 1200 pixels', {}],
    ['at 390 pixels in the dark', { width: 390, dark: true }],
  ] as const) {
    it(`shows each view ${name} without an error, a foreign request or a barrier, and hostile texts as texts`, async () => {
      const { page, problems, addresses } = await watchedPage(browser, base, options);
      await signIn(page, base, ROOT);
      const addressed = [
        ...VIEWS,
        [`/console/memories/${ids[40]}`, HOSTILE],
        [`/console/graph/${ids[1]}`, 'links'],
      ];
      for (const [address, text] of addressed as typeof VIEWS) {
        await visit(page, address);
        await page.locator('main').getByText(text).first().waitFor({ timeout: 20_000 });
        assert.deepEqual(await barriersOf(page), [], address);
        assert.ok((await overflowOf(page)) <= 0, `${address} is wider than the window`);
        assert.equal(await page.locator('main img, main script, main iframe').count(), 0, address);
      }
      assert.deepEqual(problems, []);
      assert.ok(addresses.length > 20);
      assert.deepEqual(
        addresses.filter((address) => address.includes(KEY)),
        [],
      );
      assert.equal(await page.evaluate('localStorage.length'), 0);
      assert.equal(await page.evaluate('document.cookie'), '');
      await page.context().close();
    });
  }

  it('asks for the key again when it is wrong, and a new session does not know it', async () => {
    const { page } = await watchedPage(browser, base);
    await page.goto(`${base}/console`);
    await page.getByLabel('API key', { exact: true }).last().fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('demands its API key').waitFor();
    assert.equal(await page.getByText('Deploy window').count(), 0);
    await page.context().close();
  });

  it('edits a memory, refuses an edit of an older version, and undoes', async () => {
    const { page, problems } = await watchedPage(browser, base);
    await signIn(page, base, 'ai:alice');
    const id = ids[2]!;
    await visit(page, `/console/memories/${id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('edited in the console');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('main p.text').getByText('edited in the console').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await text.fill('an edit that is too late');
    await send('PUT', `/memories/${id}`, { content: 'somebody was faster' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Somebody else changed it').waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.locator('main p.text').getByText('somebody was faster').waitFor();
    await page.getByRole('button', { name: 'Undo the last edit' }).click();
    await page.locator('main p.text').getByText('edited in the console').waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('archives a memory and restores it', async () => {
    const { page } = await watchedPage(browser, base);
    await signIn(page, base, 'ai:alice');
    await visit(page, `/console/memories/${ids[3]}`);
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('heading', { name: 'Memories' }).waitFor();
    await visit(page, `/console/memories/${ids[3]}`);
    await page.getByRole('button', { name: 'Restore it' }).click();
    await page.getByRole('heading', { name: 'Deploy window 3' }).waitFor();
    await page.context().close();
  });

  it('shows within a second what another client asks for, and approves it', async () => {
    const { page, problems } = await watchedPage(browser, base);
    await signIn(page, base, 'ai:lead');
    await visit(page, '/console/approvals');
    await page.getByText('live', { exact: true }).waitFor();
    const asked = Date.now();
    await send('POST', '/memories', { title: 'Gated', content: 'first\nsecond', namespace: 'gated' });
    await page.getByRole('heading', { name: 'store in gated' }).waitFor();
    assert.ok(Date.now() - asked < 1000, `${Date.now() - asked} ms`);
    await page.locator('.diff .new').getByText('second').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Nothing waits').waitFor();
    const found = await fetch(`${base}/api/v1/memories?namespace=gated`, {
      headers: { 'x-api-key': KEY, 'x-agent-id': 'ai:alice' },
    });
    assert.equal(((await found.json()) as { count: number }).count, 1);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('moves the slider of time, and the links that hold change', async () => {
    const { page } = await watchedPage(browser, base);
    await signIn(page, base, ROOT);
    await visit(page, '/console/graph?namespace=team/alpha');
    await page.getByText('39 of 39 links').waitFor();
    await page.getByLabel('True at').focus();
    await page.keyboard.press('Home');
    await page.getByText('1 of 39 links').waitFor();
    await page.keyboard.press('End');
    await page.getByText('39 of 39 links').waitFor();
    await page.getByLabel('Believed at').focus();
    await page.keyboard.press('Home');
    await page.getByText('1 of 39 links').waitFor();
    await page.context().close();
  });

  it('is used by keyboard alone', async () => {
    const { page } = await watchedPage(browser, base);
    await signIn(page, base, 'ai:alice');
    await page.getByText('Deploy window 39').first().waitFor();
    const focused = (member: string) => page.evaluate(`document.activeElement.${member}`) as Promise<string>;
    await page.reload();
    await page.getByText('Deploy window 39').first().waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused('textContent'), 'Skip to the content');
    await tabTo(page, 'a[aria-posinset], li a');
    const list = page.locator('.long-list li a');
    await list.first().focus();
    for (let n = 0; n < 5; n += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.waitForFunction(
      "{ const row = document.activeElement.closest('li[aria-posinset]'); row !== null && row.ariaPosInSet === row.ariaSetSize }",
    );
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Facts' }).waitFor();
    assert.equal(await focused('id'), 'main');
    await page.context().close();
  });

  it('shows each tenant in its own tab only what is theirs', async () => {
    await store('Only of alice', { scope: 'private', namespace: 'own' });
    await store('Only of bob', { scope: 'private', namespace: 'own' }, 'ai:bob');
    for (const [agent, own, other] of [
      ['ai:alice', 'Only of alice', 'Only of bob'],
      ['ai:bob', 'Only of bob', 'Only of alice'],
    ] as const) {
      const { page } = await watchedPage(browser, base);
      await signIn(page, base, agent);
      await visit(page, '/console/memories?namespace=own');
      await page.getByText(own).first().waitFor();
      assert.equal(await page.getByText(other).count(), 0);
      await page.context().close();
    }
  });
});

/** Presses Tab until the focus is on what the selector names. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let n = 0; n < 60; n += 1) {
    if ((await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) === true) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}`);
}
