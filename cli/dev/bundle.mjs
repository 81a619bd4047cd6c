import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ENTRIES, leaveAscii, libraryOptions, scriptOf, scriptOptions } from './code-cache.mjs';
import { generatedTables } from './generated-tables.mjs';
import { onDemand, outside } from './outside.mjs';
import { at } from './project.mjs';

/** Packages that few processes need, each in a script of its own that is loaded when something of it is first used. */
export const LIBRARIES = [
  {
    // With its own zod it is as much code as all other modules.
    file: 'node/mcp/library.cjs',
    of: /^@modelcontextprotocol\//,
    modules: [
      '@modelcontextprotocol/sdk/server/index.js',
      '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js',
      '@modelcontextprotocol/sdk/types.js',
    ],
  },
  {
    file: 'node/observability/otlp-library.cjs',
    of: /^@opentelemetry\//,
    modules: [
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
    ],
  },
  {
    file: 'node/observability/metrics-library.cjs',
    of: /^prom-client$/,
    modules: ['prom-client'],
    contents: "module.exports = require('prom-client');",
  },
  {
    file: 'node/secrets/library.cjs',
    of: /^@secretlint\//,
    modules: ['@secretlint/secretlint-rule-preset-recommend'],
  },
  {
    // The one encoding of five; its tables are as large as the program.
    file: 'node/semantics/tokens-library.cjs',
    of: /^gpt-tokenizer\//,
    modules: ['gpt-tokenizer/encoding/cl100k_base'],
  },
  {
    // A connection needs a fifth of its modules; a download of a model, which goes through a proxy, needs them all.
    file: 'node/outbound/library.cjs',
    of: /^undici$/,
    modules: ['undici'],
    contents: `
      const withApi = (part) => {
        Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, require('undici/lib/api'));
        return part();
      };
      module.exports = {
        get Client() { return withApi(() => require('undici/lib/dispatcher/client')); },
        get Pool() { return withApi(() => require('undici/lib/dispatcher/pool')); },
        get EnvHttpProxyAgent() { return require('undici').EnvHttpProxyAgent; },
        get request() { return require('undici').request; },
      };`,
  },
];

/** The JavaScript of the tokens' library, without the entry that imports WebAssembly as a module. */
const BISCUIT = {
  file: 'node/identity/biscuit/biscuit.cjs',
  source: at('node_modules/@biscuit-auth/biscuit-wasm/module/biscuit_bg.js'),
};

/** The client that programs import as `mnemesh/client`, and where the package has it and its types. */
const CLIENT_ENTRY = 'node/client/index.js';
const CLIENT_FILE = 'client/index.js';
const CLIENT_TYPES = 'client/index.d.ts';

const require = createRequire(import.meta.url);

/** The bundler's version. */
export const bundlerVersion = () => require('esbuild/package.json').version;

/**
 * Bundles each entry with its modules into one file, in the place of the entry: Node spends most of a short command's
 * time on finding and reading hundreds of modules. A module still runs only when something imports it. The other files
 * stay as they were compiled, for tests. Answers the modules that are built in.
 */
export async function bundle(dist) {
  const { build, stop } = require('esbuild');
  const tables = await generatedTables(dist);
  const common = {
    absWorkingDir: dist,
    bundle: true,
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  };
  const built = await Promise.all([
    ...LIBRARIES.map(({ file, modules, contents }) =>
      build({
        ...common,
        ...libraryOptions,
        stdin: {
          contents: contents ?? modules.map((path) => `export * from '${path}';`).join('\n'),
          resolveDir: dist,
        },
        outfile: file,
        plugins: [noSchemaValidator(), noKeyFiles()],
      }),
    ),
    build({
      ...common,
      entryPoints: [BISCUIT.source],
      outfile: BISCUIT.file,
      format: 'cjs',
      // Its package.json says "false" where a boolean is meant.
      logOverride: { 'package.json': 'silent' },
    }),
    ...ENTRIES.map((entry) =>
      build({
        ...common,
        ...scriptOptions(entry),
        entryPoints: [entry],
        plugins: [
          ownModules(dist, join(dist, entry), tables),
          outside(),
          nativeDatabase(),
          ...LIBRARIES.map((library) => fromLibrary(entry, library)),
        ],
      }),
    ),
    build({
      ...common,
      entryPoints: [CLIENT_ENTRY],
      outfile: CLIENT_FILE,
      format: 'esm',
      plugins: [ownModules(dist, join(dist, CLIENT_FILE), tables), pureBuiltins()],
    }),
  ]);
  await stop();
  for (const file of [...ENTRIES.map(scriptOf), ...LIBRARIES.map(({ file }) => file)])
    leaveAscii(join(dist, file));
  await writeClientTypes(dist);
  return built.flatMap(({ metafile }) => Object.keys(metafile.inputs).map((path) => join(dist, path)));
}

/** Own modules: they keep their places, and the tables that the build makes stand in theirs. */
function ownModules(dist, entry, tables) {
  return {
    name: 'own-modules',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (!path.startsWith(dist + sep)) return undefined;
        const table = tables.get(path);
        if (table !== undefined) return { contents: table, resolveDir: dirname(path) };
        const place = JSON.stringify(relative(dirname(entry), path).split(sep).join('/'));
        const contents = readFileSync(path, 'utf8')
          // Only the used members of a namespace import stay in the bundle.
          .replace("import { z } from 'zod'", "import * as z from 'zod'")
          // What is required is found like what is imported.
          .replaceAll("createRequire(import.meta.url)('", "require('")
          .replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`);
        return { contents, resolveDir: dirname(path) };
      });
    },
  };
}

/** Modules of Node stay imports, and only those of which something is used. */
function pureBuiltins() {
  return {
    name: 'pure-builtins',
    setup({ onResolve }) {
      onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
    },
  };
}

/** The database's JavaScript is bundled; its native part stays where it was installed. */
function nativeDatabase() {
  return {
    name: 'native-database',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^bindings$/ }, ({ path }) => ({ path, namespace: 'native' }));
      onLoad({ filter: /.*/, namespace: 'native' }, () => ({
        contents: "module.exports = (name) => $require('better-sqlite3/build/Release/' + name);",
      }));
    },
  };
}

/** A library comes from its own file. */
function fromLibrary(entry, { file, of, modules }) {
  const path = relative(dirname(entry), file).split(sep).join('/');
  const load = `$library(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)})`;
  return {
    name: file,
    setup(build) {
      onDemand(build, file, of, async (wanted) => {
        if (!modules.includes(wanted)) throw new Error(`${wanted} is not in ${file}`);
        return { load, names: Object.keys(await import(wanted)).filter((name) => name !== 'default') };
      });
    },
  };
}

/** The MCP library's validator, which `node/mcp/mcp-server.ts` replaces, takes a third of its code. */
function noSchemaValidator() {
  return {
    name: 'no-schema-validator',
    setup({ onLoad }) {
      onLoad({ filter: /sdk[\\/]dist[\\/]esm[\\/]validation[\\/]ajv-provider\.js$/ }, () => ({
        contents: 'export class AjvJsonSchemaValidator {}',
      }));
    },
  };
}

/** One rule for secrets loads a library, as large as all others, for files of keys; what is stored here is text. */
function noKeyFiles() {
  return {
    name: 'no-key-files',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\/index-/ }, ({ path, importer, kind }) =>
        kind === 'dynamic-import' && importer.includes('secretlint-rule-preset')
          ? { path, external: true }
          : undefined,
      );
    },
  };
}

/** Writes the types of the client, which need no other file. */
async function writeClientTypes(dist) {
  const { clientDeclaration } = await import(pathToFileURL(join(dist, 'node/client/declaration.js')).href);
  const own = readFileSync(at('node/client/public.ts'), 'utf8');
  writeFileSync(join(dist, CLIENT_TYPES), clientDeclaration(own));
}
