import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A Chromium of this machine; null where there is none. */
export const CHROMIUM: string | null =
  [process.env['CHROMIUM'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path)) ?? null;

export const NO_CHROMIUM = 'this machine has no Chromium: apt-get install chromium, or name one in CHROMIUM';

// The graph needs WebGL, here without a graphics card.
const LAUNCH = {
  executablePath: CHROMIUM ?? '',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
};

export const openBrowser = (): Promise<Browser> => chromium.launch(LAUNCH);

/** A browser that keeps what it keeps in a folder, as that of a person does. */
export const openProfile = (folder: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, LAUNCH);

/** What a page did that it must not: errors, requests to others, violations of its policy. */
export interface Watched {
  readonly page: Page;
  readonly problems: string[];
  /** Addresses of all requests. */
  readonly addresses: string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly dark?: boolean;
}

/** A page of its own session. */
export async function watchedPage(
  browser: Browser,
  base: string,
  { width = 1200, dark = false }: PageOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
  });
  return watch(await context.newPage(), base);
}

/** Notes what a page does from now on. The refusals of the node are no errors of the page. */
export async function watch(page: Page, base: string): Promise<Watched> {
  const [problems, addresses]: [string[], string[]] = [[], []];
  page.on('console', (message) => {
    const isRefusal = /status of (400|401|403|404|409)/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !isRefusal) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    addresses.push(request.url());
    if (origin !== base && protocol !== 'data:') problems.push(`asked another host: ${request.url()}`);
  });
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
  );
  return { page, problems, addresses };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What keeps people from using a page, as far as axe finds it and calls it serious or critical. */
export async function barriersOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as {
    violations: readonly Violation[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}

/** How far a page, or a field that a person fills, reaches beyond the place that it has. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(`Math.max(
    document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll('main .field')].flatMap((field) => [...field.querySelectorAll('input, select, textarea')].map(
      (input) => Math.floor(input.getBoundingClientRect().right - field.getBoundingClientRect().right))),
    ...[...document.querySelectorAll('main .field')].map((field) => Math.floor(field.getBoundingClientRect().right - innerWidth)),
  )`);

export const KEY = 'sesame-for-the-console';

/** Gives the key where the page asks, and says who looks. */
export async function signIn(page: Page, base: string, agent: string): Promise<void> {
  await page.goto(`${base}/console`);
  await page.getByLabel('API key', { exact: true }).last().fill(KEY);
  await page.keyboard.press('Enter');
  const field = page.locator('header input');
  await field.waitFor();
  await field.fill(agent);
  await page.keyboard.press('Enter');
}

/** Goes to an address of the console as a link does, without loading the page again. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate(`{
    const link = document.createElement('a');
    link.href = ${JSON.stringify(address)};
    document.body.append(link);
    link.click();
    link.remove();
  }`);
}

/** Presses Tab until the focus is on what the selector names. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let n = 0; n < 80; n += 1) {
    if ((await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) === true) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}`);
}
