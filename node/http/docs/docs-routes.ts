import { readFile } from 'node:fs/promises';
import type { ServiceRoute } from '../service-route.js';

/** The page runs its own two scripts and speaks with this node only. */
const HEADERS = [
  'content-security-policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy',
  'no-referrer',
  'x-frame-options',
  'DENY',
];

const HTML_TYPE = 'text/html; charset=utf-8';
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const STYLE_TYPE = 'text/css; charset=utf-8';

/** A file of the page; only the page itself is described. */
function fileRoute(path: string, file: URL, contentType: string): ServiceRoute {
  const isPage = path === '/docs';
  return {
    kind: 'service',
    name: isPage ? 'docs' : 'docs_file',
    path,
    summary: 'Show this description as a page that works offline.',
    open: true,
    always: false,
    ...(isPage ? {} : { undescribed: true }),
    responses: { 200: { description: 'The page', contentType: 'text/html' } },
    reply: async () => ({
      status: 200,
      contentType,
      body: await readFile(file, 'utf8'),
      headers: HEADERS,
    }),
  };
}

/**
 * The page that shows `/openapi.json`, and its files. They are open, because they are the same on each node; where the node
 * demands a key, the page asks for it before it reads the description.
 */
export const docsRoutes = (): readonly ServiceRoute[] => [
  fileRoute('/docs', new URL('./index.html', import.meta.url), HTML_TYPE),
  fileRoute('/docs/page.js', new URL('./page.js', import.meta.url), SCRIPT_TYPE),
  fileRoute('/docs/page.css', new URL('./page.css', import.meta.url), STYLE_TYPE),
  fileRoute(
    '/docs/swagger-ui-bundle.js',
    new URL('./swagger-ui/swagger-ui-bundle.js', import.meta.url),
    SCRIPT_TYPE,
  ),
  fileRoute('/docs/swagger-ui.css', new URL('./swagger-ui/swagger-ui.css', import.meta.url), STYLE_TYPE),
];
