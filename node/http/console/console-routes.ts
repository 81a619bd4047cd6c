import { readdirSync, readFileSync } from 'node:fs';
import { HASHED_FILE_KEPT_SECS } from '../../../protocol/base/limits.js';
import type { ServiceRoute } from '../service-route.js';

/** The page runs its own scripts and speaks with this node only. */
const HEADERS = [
  'content-security-policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy',
  'no-referrer',
  'x-frame-options',
  'DENY',
];
/** The name of an asset has the hash of what it holds. */
const KEPT = ['cache-control', `public, max-age=${HASHED_FILE_KEPT_SECS}, immutable`];

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** Where the page itself is: it finds out from its address what to show. */
const PAGES = ['/console', '/console/{view}', '/console/{view}/{subject}'];

/** The files of the console, which the build has put beside the program. */
const FOLDER = new URL('../../../console/', import.meta.url);

/**
 * The console and its files. They are open, because they are the same on each node; where the node demands a key, the page asks for it before
 * it reads anything.
 */
export function consoleRoutes(): readonly ServiceRoute[] {
  const assets = readdirSync(new URL('assets/', FOLDER)).sort();
  return [
    ...PAGES.map((path) => fileRoute(path, 'index.html', [])),
    ...assets.map((name) => fileRoute(`/console/assets/${name}`, `assets/${name}`, KEPT)),
  ];
}

function fileRoute(path: string, file: string, headers: readonly string[]): ServiceRoute {
  const isDescribed = path === PAGES[0];
  let text: string | null = null;
  return {
    kind: 'service',
    name: isDescribed ? 'console' : 'console_file',
    path,
    summary: 'Show the console, a page to look into this node.',
    open: true,
    always: false,
    bare: true,
    ...(isDescribed ? {} : { undescribed: true }),
    responses: { 200: { description: 'The page', contentType: 'text/html' } },
    reply: () => {
      text ??= readFileSync(new URL(file, FOLDER), 'utf8');
      const contentType = TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
      return { status: 200, contentType, body: text, headers: [...headers, ...HEADERS] };
    },
  };
}
