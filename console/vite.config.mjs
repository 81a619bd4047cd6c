import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const ROUTES = 'virtual:routes';

/** The routes of the operations, which the build has compiled, as plain data. */
function routeTable(dist) {
  return {
    name: 'route-table',
    resolveId: (id) => (id === ROUTES ? `\0${ROUTES}` : undefined),
    async load(id) {
      if (id !== `\0${ROUTES}`) return undefined;
      const table = join(dist, 'node/client/route-table.js');
      if (!existsSync(table)) throw new Error(`${table} is missing: run npm run build first`);
      const { ROUTES: routes } = await import(pathToFileURL(table).href);
      return `export const ROUTES = ${JSON.stringify(routes)};`;
    },
  };
}

/** How the console is built from what the compiler wrote to `dist`, into the folder `console` there. */
export const consoleConfig = (dist) => ({
  configFile: false,
  root: ROOT,
  base: '/console/',
  logLevel: 'warn',
  plugins: [routeTable(dist)],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(dist, 'console'),
    emptyOutDir: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    // On a busy machine the bundler would speak of the time that the table of routes takes.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});

/** For `npx vite console`: the page comes from its sources, and its requests go to a node that runs. */
export default {
  ...consoleConfig(join(ROOT, '../dist')),
  logLevel: 'info',
  server: {
    port: 5173,
    proxy: {
      '/api': process.env.SVC_CONSOLE_NODE ?? 'http://127.0.0.1:9077',
      '/metrics': process.env.SVC_CONSOLE_NODE ?? 'http://127.0.0.1:9077',
    },
  },
};
