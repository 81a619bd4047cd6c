import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scriptOptions } from './code-cache.mjs';
import { at } from './project.mjs';

const PROGRAM_ENTRY = 'cli/main.js';

/** The files that Node starts: the program, and each thread. */
export const ENTRIES = [
  PROGRAM_ENTRY,
  'node/threads/writer-thread.js',
  'node/threads/reader-thread.js',
  'node/semantics/encoder/encoder-thread.js',
  'node/semantics/onnx/onnx-thread.js',
  'node/semantics/token-thread.js',
  'storage/postgres/postgres-thread.js',
  'storage/vectors/vector-thread.js',
];

/** Libraries that few processes need, each in a file of its own that is loaded when an importing module runs. */
const LIBRARIES = [
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
    file: 'node/secrets/library.cjs',
    of: /^@secretlint\//,
    modules: ['@secretlint/secretlint-rule-preset-recommend'],
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

/**
 * These modules stay outside the bundle and are loaded when an importing module runs: Node's own modules, because many
 * are expensive to load (`node:http`), and packages that are large or look for files next to their own.
 */
const OUTSIDE =
  /^(node:.*|pino|prom-client|node-forge|undici|ws|pg|gpt-tokenizer(\/.*)?|csv-parse|rotating-file-stream)$/;

const require = createRequire(import.meta.url);

/** The bundler's version. */
export const bundlerVersion = () => require('esbuild-wasm/package.json').version;

/**
 * Bundles each entry with its modules into one file, in the place of the entry: Node spends most of a short command's
 * time on finding and reading hundreds of modules. A module still runs only when something imports it. The other files
 * stay as they were compiled, for tests.
 */
export async function bundle(dist) {
  const { build, stop } = require('esbuild-wasm');
  const tables = await generatedTables(dist);
  const common = {
    absWorkingDir: dist,
    bundle: true,
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    legalComments: 'none',
    logLevel: 'warning',
  };
  await Promise.all([
    ...LIBRARIES.map(({ file, modules }) =>
      build({
        ...common,
        stdin: { contents: modules.map((path) => `export * from '${path}';`).join('\n'), resolveDir: dist },
        outfile: file,
        format: 'cjs',
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
        entryPoints: [entry],
        outfile: entry,
        allowOverwrite: true,
        format: 'esm',
        banner: { js: REQUIRE },
        ...(entry === PROGRAM_ENTRY ? scriptOptions : {}),
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
  await writeClientTypes(dist);
}

/** How a module that is not an ECMAScript module gets Node's own modules, and packages outside the bundle. */
const REQUIRE = [
  "import { createRequire as $createRequire } from 'node:module';",
  'const require = $createRequire(import.meta.url);',
  // Under this name the bundler does not touch it.
  'const $require = require;',
].join('\n');

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
          .replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`);
        return { contents, resolveDir: dirname(path) };
      });
    },
  };
}

/** An import from outside becomes a call when the importing module runs. */
function outside() {
  return {
    name: 'outside',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: OUTSIDE }, ({ path }) => ({ path, namespace: 'outside' }));
      onLoad({ filter: /.*/, namespace: 'outside' }, ({ path }) => ({
        contents: `module.exports = $require(${JSON.stringify(path)});`,
      }));
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

/** A library is required from its own file. */
function fromLibrary(entry, { file, of, modules }) {
  const path = JSON.stringify(relative(dirname(entry), file).split(sep).join('/'));
  return {
    name: file,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: of }, ({ path: wanted }) => {
        if (!modules.includes(wanted)) throw new Error(`${wanted} is not in ${file}`);
        return { path: wanted, namespace: file };
      });
      onLoad({ filter: /.*/, namespace: file }, () => ({
        contents: `module.exports = $require(${path});`,
      }));
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

/** The modules that the build makes from the operations, by their paths. */
async function generatedTables(dist) {
  const { ROUTES } = await import(pathToFileURL(join(dist, 'node/client/route-table.js')).href);
  return new Map([
    [join(dist, 'cli/operation-table.js'), await operationTable(dist)],
    [join(dist, 'node/client/route-table.js'), `export const ROUTES = ${JSON.stringify(ROUTES)};\n`],
  ]);
}

/** Writes the types of the client, which need no other file. */
async function writeClientTypes(dist) {
  const { clientDeclaration } = await import(pathToFileURL(join(dist, 'node/client/declaration.js')).href);
  const own = readFileSync(at('node/client/public.ts'), 'utf8');
  writeFileSync(join(dist, CLIENT_TYPES), clientDeclaration(own));
}

/** The text of a module like `cli/operation-table.ts` that imports an operation when it is asked for. */
async function operationTable(dist) {
  const load = (path) => import(pathToFileURL(path).href);
  const folder = join(dist, 'node/operations');
  const { OPERATIONS } = await load(join(folder, 'registry.js'));
  const places = new Map();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue;
    for (const [name, value] of Object.entries(await load(join(folder, file))))
      places.set(value, { file, name });
  }
  const rows = OPERATIONS.filter(({ cli }) => cli !== undefined).map((operation) => {
    const { file, name } = places.get(operation);
    const path = JSON.stringify(`../node/operations/${file.split(sep).join('/')}`);
    const facts = JSON.stringify({
      command: operation.cli.command,
      family: operation.family,
      summary: operation.summary,
    });
    return `  { ...${facts}, load: async () => (await import(${path})).${name} },`;
  });
  return `const TABLE = [\n${rows.join('\n')}\n];\nexport const operationTable = async () => TABLE;\n`;
}
