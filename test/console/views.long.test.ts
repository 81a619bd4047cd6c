import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { untilAnswer } from '../support/wait.js';
import {
  barriersOf,
  CHROMIUM,
  KEY,
  NO_CHROMIUM,
  openBrowser,
  overflowOf,
  signIn,
  tabTo,
  visit,
  watchedPage,
} from './browser.js';
import { ConsoleMesh, ROOT } from './console-mesh.js';
import {
  HOSTILE,
  HOSTILE_AGENT,
  HOSTILE_NAME,
  HOSTILE_NAMESPACE,
  LOST_TEXT,
  PRESENT_TEXT,
  type Seeded,
  seed,
} from './seeded-mesh.js';

describe('the console of a mesh of three in a browser', {
  skip: CHROMIUM === null ? NO_CHROMIUM : false,
}, () => {
  let mesh: ConsoleMesh;
  let browser: Browser;
  let seeded: Seeded;

  before(async () => {
    mesh = await ConsoleMesh.open();
    seeded = await seed(mesh);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await mesh?.close();
  });

  /** A page of its own session at a node, signed in. */
  async function opened(agent: string, options: { node?: number; width?: number; dark?: boolean } = {}) {
    const base = mesh.origin(options.node ?? 0);
    const watched = await watchedPage(browser, base, options);
    await signIn(watched.page, base, agent);
    return watched;
  }

  /** Addresses of all views, and what must be read there; of the hostile texts each where it can stand. */
  const views = (): readonly (readonly [string, ...string[]])[] => [
    ['/console/memories', 'Deploy window 39', HOSTILE, HOSTILE_NAME, HOSTILE_NAMESPACE, HOSTILE_AGENT],
    ['/console/memories?mode=search&q=onerror', HOSTILE],
    ['/console/memories?mode=recall&q=when+is+the+deploy+window', 'by its words'],
    [`/console/memories?agent=${encodeURIComponent(HOSTILE_AGENT)}`, 'Registered', HOSTILE],
    [`/console/memories/${seeded.hostile}`, HOSTILE, HOSTILE_NAME, HOSTILE_NAMESPACE, HOSTILE_AGENT],
    ['/console/conflicts', 'written on three', LOST_TEXT],
    [`/console/conflicts?namespace=${encodeURIComponent(HOSTILE_NAMESPACE)}`, HOSTILE],
    ['/console/approvals', `${HOSTILE_AGENT}`, HOSTILE],
    ['/console/rules?namespace=gated', 'everybody, after an approval'],
    [`/console/rules?namespace=${encodeURIComponent(HOSTILE_NAMESPACE)}`, HOSTILE, HOSTILE_NAMESPACE],
    [`/console/graph?namespace=team/alpha`, '41 memories'],
    [`/console/graph/${seeded.hostile}`, 'links'],
    ['/console/board', `Publish ${HOSTILE}`, `Sign-off ${HOSTILE}`, 'held by ai:alice'],
    ['/console/messages', HOSTILE, HOSTILE_AGENT],
    ['/console/erasures', HOSTILE_NAMESPACE, 'gone on all 3 nodes', 'Backup'],
    ['/console/tokens', `the helper of ${HOSTILE}`, HOSTILE_AGENT],
    ['/console/room', 'There is no limit', 'What would go first'],
    ['/console/secrets', 'github-token', HOSTILE_AGENT, 'redact: it is stored without the secret'],
    ['/console/mesh', 'two', 'three', '2 of 3 nodes'],
    ['/console/audit', 'It holds', HOSTILE_AGENT],
    ['/console/health', 'svc_requests_inflight', 'Findings of doctor', 'There is none.', 'What to do'],
  ];

  it('asks for an approval of something hostile, which the next tests look at', async () => {
    const asked = { title: HOSTILE, content: HOSTILE, tags: [HOSTILE_NAME], namespace: 'gated' };
    const { status } = await mesh.send('POST', '/memories', asked, { agent: HOSTILE_AGENT });
    assert.equal(status, 'pending');
  });

  for (const [name, options] of [
    ['at 1200 pixels', {}],
    ['at 390 pixels in the dark', { width: 390, dark: true }],
  ] as const) {
    it(`shows each view ${name} without an error, a foreign request or a barrier, and hostile texts as texts`, async () => {
      const { page, problems, addresses } = await opened(ROOT, options);
      for (const [address, ...texts] of views()) {
        await visit(page, address);
        for (const text of texts)
          await page
            .locator('main')
            .getByText(text)
            .first()
            .waitFor({ state: 'attached', timeout: 20_000 })
            .catch((error: Error) => assert.fail(`${address} has no "${text}": ${error.message}`));
        assert.deepEqual(await barriersOf(page), [], address);
        assert.ok((await overflowOf(page)) <= 0, `${address} is wider than the window`);
        const active =
          'main img, main script, main iframe, main svg[onload], main [onerror], a[href^="javascript:" i]';
        assert.equal(await page.locator(active).count(), 0, address);
      }
      assert.deepEqual(problems, []);
      assert.ok(addresses.length > 20);
      assert.deepEqual(
        addresses.filter((address) => address.includes(KEY)),
        [],
      );
      await page.context().close();
    });
  }

  it('edits a memory, refuses an edit of an older version, and undoes', async () => {
    const { page, problems } = await opened('ai:alice');
    const id = seeded.windows[2]!;
    await visit(page, `/console/memories/${id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('edited in the console');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('main p.text').getByText('edited in the console').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await text.fill('an edit that is too late');
    await mesh.send('PUT', `/memories/${id}`, { content: 'somebody was faster' });
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

  it('promotes a memory, archives it and restores it', async () => {
    const id = await mesh.store('Of last year', { namespace: 'old' }, { agent: ROOT });
    const { page } = await opened(ROOT);
    await visit(page, `/console/memories/${id}`);
    await page.getByRole('button', { name: 'Promote' }).click();
    await page.getByText('never', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('heading', { name: 'Memories' }).waitFor();
    await visit(page, '/console/memories?mode=archive');
    await page.getByRole('link', { name: 'Of last year' }).click();
    await page.getByRole('button', { name: 'Restore it' }).click();
    await page.getByRole('heading', { name: 'Of last year' }).waitFor();
    await page.context().close();
  });

  it('finds a memory and follows it to its writer, and to what else that one wrote', async () => {
    const { page } = await opened(ROOT);
    await page.getByLabel('How', { exact: true }).selectOption('search');
    await page.getByLabel('Words', { exact: true }).fill('office nine');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'The office opens at nine' }).click();
    await page.locator('dl').getByRole('link', { name: 'ai:alice' }).click();
    await page.getByText('ai:alice is not registered').waitFor();
    await page.getByRole('link', { name: 'The office opens at eight' }).waitFor();
    assert.equal(await page.getByText(HOSTILE).count(), 0);
    await page.context().close();
  });

  for (const [where, node] of [
    ['the same node', 0],
    ['another node', 2],
  ] as const) {
    it(`shows within a second what another client asks ${where} for, and approves it`, async () => {
      const { page, problems } = await opened('ai:lead');
      await visit(page, '/console/approvals');
      await page.getByText('live', { exact: true }).waitFor();
      const title = `Gated on ${where}`;
      const began = performance.now();
      await mesh.send('POST', '/memories', { title, content: 'first\nsecond', namespace: 'gated' }, { node });
      const card = page.getByRole('article').filter({ hasText: title });
      await card.waitFor();
      const tookMs = performance.now() - began;
      assert.ok(tookMs < 1000, `${tookMs} ms`);
      await card.locator('.diff .new').getByText('second').waitFor();
      await card.getByText('the policy of gated asks for an approval of each write').waitFor();
      await card.getByRole('button', { name: 'Approve' }).click();
      await card.waitFor({ state: 'detached' });
      for (const each of [0, 1, 2])
        await untilAnswer(
          `node ${each} has the memory`,
          async () =>
            (await mesh.send('GET', '/memories?namespace=gated', undefined, { node: each }))['memories'],
          (memories) => (memories as { title: string }[]).some((memory) => memory.title === title),
          { withinMs: 10_000 },
        );
      assert.deepEqual(problems, []);
      await page.context().close();
    });
  }

  it('denies an action for the whole session, and remembers it', async () => {
    const { page } = await opened('ai:lead');
    await visit(page, '/console/approvals');
    await mesh.send('POST', '/memories', { title: 'Never', content: 'no', namespace: 'gated' });
    const card = page.getByRole('article').filter({ hasText: 'Never' });
    await card.getByLabel('This decision holds').selectOption('forever');
    await card.getByRole('button', { name: 'Deny' }).click();
    await card.waitFor({ state: 'detached' });
    await page.getByLabel('State').selectOption('rejected');
    await page.getByRole('table', { name: 'Earlier actions' }).getByText('ai:lead').waitFor();
    await page.context().close();
  });

  it('moves the slider of time, and the links that hold change', async () => {
    for (const agent of [ROOT, 'ai:alice']) {
      const { page } = await opened(agent);
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
    }
  });

  it('takes an edit back that lost against another node, which all nodes then have', async () => {
    const { page, problems } = await opened(ROOT, { node: 1 });
    await visit(page, '/console/conflicts');
    const card = page.getByRole('article').filter({ hasText: 'Edited on two nodes' });
    await card.locator('.two').getByText(PRESENT_TEXT).waitFor();
    await card.locator('.two').getByText(LOST_TEXT).waitFor();
    await card.getByRole('button', { name: 'Take the text that lost back' }).click();
    await page.getByText('None: every edit stands.').waitFor();
    for (const node of [0, 1, 2])
      await untilAnswer(
        `node ${node} has the text`,
        async () => (await mesh.send('GET', `/memories/${seeded.edited}`, undefined, { node }))['memory'],
        (memory) => (memory as { content: string }).content === LOST_TEXT,
        { withinMs: 10_000 },
      );
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('settles a contradiction, with both texts side by side', async () => {
    const { page, problems } = await opened('ai:alice');
    await visit(page, '/console/conflicts?namespace=facts');
    const right = page.getByRole('article').filter({ hasText: 'The office opens at eight' });
    await page.getByRole('article').filter({ hasText: 'The office opens at nine' }).first().waitFor();
    await right.getByRole('button', { name: 'Keep this, archive the other' }).first().click();
    await page.getByText('None.', { exact: true }).waitFor();
    const { archived } = await mesh.send('GET', '/archive?namespace=facts', undefined, { agent: ROOT });
    assert.deepEqual(
      (archived as { title: string }[]).map(({ title }) => title),
      ['The office opens at nine'],
    );
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  it('shows equal memories of all nodes, and a node that is gone', async () => {
    await mesh.mesh.drain(60_000);
    const { page } = await opened(ROOT);
    await visit(page, '/console/mesh');
    const row = (name: string) =>
      page.getByRole('table', { name: 'Nodes' }).getByRole('row').filter({ hasText: name });
    const again = page.getByRole('button', { name: 'Ask again' });
    for (const name of ['two', 'three']) await row(name).getByText('equal', { exact: true }).waitFor();
    await mesh.node(2).end('SIGTERM');
    await untilAnswer(
      'the console sees that the node is gone',
      async () => {
        await again.click();
        return row('three').getByText('no', { exact: true }).count();
      },
      (count) => count === 1,
      { withinMs: 30_000, everyMs: 500 },
    );
    await mesh.node(2).start();
    await mesh.mesh.drain(60_000);
    await page.context().close();
  });

  it('is used by keyboard alone', async () => {
    const { page } = await opened('ai:alice');
    await page.getByText('Deploy window 39').first().waitFor();
    const focused = (member: string) => page.evaluate(`document.activeElement.${member}`) as Promise<string>;
    await page.reload();
    await page.getByText('Deploy window 39').first().waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused('textContent'), 'Skip to the content');
    await tabTo(page, '.long-list li a');
    for (let n = 0; n < 5; n += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.locator('.long-list li:last-child a:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Facts' }).waitFor();
    assert.equal(await focused('id'), 'main');
    // Every view is reached from the navigation.
    for (const title of [
      'Conflicts',
      'Approvals',
      'Rules',
      'Graph',
      'Board',
      'Messages',
      'Erasures',
      'Tokens',
      'Room',
      'Secrets',
      'Mesh',
      'Audit',
      'Health',
    ]) {
      await page.evaluate('document.activeElement.blur()');
      await tabTo(page, `nav a[href$="/${title.toLowerCase()}"]`);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
    }
    await page.context().close();
  });
});
