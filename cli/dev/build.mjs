import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle, bundlerVersion } from './bundle.mjs';
import { ENCODER, layOutEncoder, PACKED_ENCODER } from './lay-out-encoder.mjs';
import { writeNotices } from './notices.mjs';
import { at, PROJECT, say, step } from './project.mjs';
import { recordCode } from './record-code.mjs';

const DIST = at('dist');
const STAMP = join(DIST, '.stamp');
/** Files that the program reads beside its code, with their licence. */
export const ASSETS = [
  'node/semantics/encoder/LICENSE',
  'storage/sqlite/native-objects.h',
  'node/http/docs/index.html',
  'node/http/docs/page.css',
  'node/http/docs/page.js',
];

const SWAGGER_UI = 'node_modules/swagger-ui-dist';
const BISCUIT = 'node_modules/@biscuit-auth/biscuit-wasm';
/** Files of packages that only the build needs, and where the program reads them. */
export const COPIED = {
  ...Object.fromEntries(
    ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css', 'LICENSE', 'NOTICE'].map(
      (name) => [`node/http/docs/swagger-ui/${name}`, `${SWAGGER_UI}/${name}`],
    ),
  ),
  'node/identity/biscuit/LICENSE': `${BISCUIT}/LICENSE`,
  'node/identity/biscuit/biscuit_bg.wasm': `${BISCUIT}/module/biscuit_bg.wasm`,
};

/**
 * Compiles the project into `dist` when a source changed. It builds in a separate folder and then swaps the folders, so
 * that nothing stale stays and a process that starts meanwhile finds one build or the other. Its last step runs the
 * program, which waits for SQLite's native part.
 */
export async function build({ native }) {
  const wanted = fingerprint();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
  await step('building', make(wanted, native));
}

async function make(wanted, native) {
  removeLeftovers();
  const fresh = at(`.build-fresh-${process.pid}`);
  const stale = at(`.build-stale-${process.pid}`);
  try {
    const compiler = at('node_modules/typescript/bin/tsc');
    const args = [compiler, '-p', at('tsconfig.json'), '--outDir', fresh];
    const status = await new Promise((resolve) => {
      const compiling = spawn(process.execPath, args, { cwd: PROJECT, stdio: ['ignore', 2, 2] });
      compiling.once('exit', resolve);
    });
    if (status !== 0) {
      say('the build failed; see the messages of the compiler above');
      rmSync(fresh, { recursive: true, force: true });
      process.exit(status ?? 1);
    }
    const modules = [...(await bundle(fresh)), ...(await buildConsole(fresh))];
    writeNotices(join(fresh, 'NOTICES.txt'), modules);
    await native;
    layOutEncoder(at(PACKED_ENCODER), join(fresh, ENCODER));
    for (const path of ASSETS) linkSync(at(path), join(fresh, path));
    for (const [path, source] of Object.entries(COPIED)) {
      mkdirSync(dirname(join(fresh, path)), { recursive: true });
      copyFileSync(at(source), join(fresh, path));
    }
    await recordCode(fresh);
    writeFileSync(join(fresh, '.stamp'), wanted);
    putInPlace(fresh, stale);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(stale, { recursive: true, force: true });
  }
}

/** Builds the console from its sources and from the routes that the compiler wrote. Answers the modules that are built in. */
async function buildConsole(fresh) {
  const [{ build: viteBuild }, { consoleConfig }] = await Promise.all([
    import('vite'),
    import('../../console/vite.config.mjs'),
  ]);
  const modules = new Set();
  const seen = { name: 'seen', moduleParsed: ({ id }) => void modules.add(id) };
  const config = consoleConfig(fresh);
  await viteBuild({ ...config, plugins: [...config.plugins, seen], worker: { plugins: () => [seen] } });
  return [...modules];
}

/**
 * Swaps the builds. Another process that builds at the same time may come between the two steps: then it tries again.
 */
function putInPlace(fresh, stale) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (existsSync(DIST)) renameSync(DIST, stale);
      renameSync(fresh, DIST);
      return;
    } catch (error) {
      if (attempt === 5 || !['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
      rmSync(stale, { recursive: true, force: true });
    }
  }
}

/** Removes the leftovers of builds that ended halfway. */
function removeLeftovers() {
  for (const name of readdirSync(PROJECT)) {
    const pid = /^\.build-(?:fresh|stale)-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(at(name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** A hash of everything that the build depends on. */
function fingerprint() {
  const { include } = JSON.parse(readFileSync(at('tsconfig.json'), 'utf8'));
  const sources = include.flatMap((folder) =>
    readdirSync(at(folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') || name.endsWith('.json'))
      .map((name) => join(folder, name)),
  );
  const console = readdirSync(at('console'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => join('console', name));
  const hash = createHash('sha256').update(`${bundlerVersion()}\0`);
  for (const path of [
    'tsconfig.json',
    'package.json',
    'package-lock.json',
    ...[
      'build',
      'bundle',
      'code-cache',
      'generated-tables',
      'lay-out-encoder',
      'notices',
      'outside',
      'record-code',
    ].map((name) => `cli/dev/${name}.mjs`),
    PACKED_ENCODER,
    ...ASSETS,
    ...sources.sort(),
    ...console.sort(),
  ]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(at(path)))
      .update('\0');
  }
  return hash.digest('hex');
}
