import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PROJECT } from '../architecture/source-files.js';
import { openBrowser, signIn, visit, watchedPage } from './browser.js';
import { ConsoleMesh, ROOT } from './console-mesh.js';
import { seed } from './seeded-mesh.js';

/**
 * Makes the pictures of `docs/console`, one of each view, from a mesh of three. Run
 * `node dist/test/console/record-screenshots.js` after a build, where a Chromium is (docs/console.md); with names of views
 * only theirs.
 */
const FOLDER = join(PROJECT, 'docs/console');
const BYTES_MAX = 60_000;
const QUALITIES = [80, 60, 40, 25];

const wanted = process.argv.slice(2);
const mesh = await ConsoleMesh.open(undefined, { SVC_STORAGE_MAX_BYTES: '10000000' });
const browser = await openBrowser();
try {
  const carol = 'ai:carol';
  const seeded = await seed(mesh, {
    ...{ text: 'the release of May', name: 'release', namespace: 'team/beta', agent: carol },
  });
  const asked = {
    title: 'Freeze begins on Friday',
    content: 'From Friday on only fixes are merged.\nAsk ai:lead first.',
  };
  await mesh.send('POST', '/memories', { ...asked, namespace: 'gated' }, { agent: carol });
  await mesh.send('PUT', `/memories/${seeded.windows[2]}`, { content: 'Sundays, 02:00 to 04:00 UTC' });
  await mesh.mesh.drain(60_000);
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, address, text, options] of [
    ['memories', '/memories?mode=recall&q=when+is+the+deploy+window', 'by its words', {}],
    ['one-memory', `/memories/${seeded.windows[2]}`, 'What changed', { width: 390 }],
    ['conflicts', '/conflicts?namespace=facts', 'written on three', {}],
    ['approvals', '/approvals', 'Freeze begins', {}],
    ['rules', '/rules?namespace=gated', 'everybody, after an approval', {}],
    ['graph', '/graph?namespace=team/alpha', '39 of 39 links', { dark: true }],
    ['board', '/board', 'held by', {}],
    ['messages', '/messages', carol, {}],
    ['erasures', '/erasures', 'gone on', {}],
    ['tokens', '/tokens', 'the helper of', {}],
    ['room', '/room', 'What goes first', {}],
    ['secrets', '/secrets', 'redacted', { dark: true }],
    ['mesh', '/mesh', 'equal', {}],
    ['audit', '/audit', 'It holds', {}],
    ['health', '/health', 'What to do', { dark: true }],
  ] as const) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const { page } = await watchedPage(browser, mesh.origin(), options);
    await signIn(page, mesh.origin(), ROOT);
    await visit(page, `/console${address}`);
    await page.locator('main').getByText(text).first().waitFor({ state: 'attached' });
    // The graph and the gauges come a little later.
    await page.waitForTimeout(2500);
    writeFileSync(join(FOLDER, `${name}.webp`), await pictureOf(page));
    await page.context().close();
  }
} finally {
  await browser.close();
  await mesh.close();
}

/** The window as a small picture, as sharp as its size permits. */
async function pictureOf(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  for (const quality of QUALITIES) {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality });
    const picture = Buffer.from(data, 'base64');
    if (picture.length < BYTES_MAX) return picture;
  }
  throw new Error('a picture is too large');
}
