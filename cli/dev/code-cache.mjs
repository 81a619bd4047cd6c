import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { constants, Script } from 'node:vm';
import { OLDEST_NODE, tooOld } from './node-version.mjs';
import { say } from './project.mjs';

/**
 * The program as a script with its compiled code next to it. Reading 1.4 MB of source takes a fifth of a short
 * command's time; a script, unlike a module, can reuse code that V8 compiled before. V8 refuses code of another version
 * of Node, another processor or other flags, and then compiles the source.
 */
const PROGRAM = 'program.js';
const CODE = 'program.code';

/** Options that make the bundle of the entry a script: a function with the parameters that replace module features. */
export const scriptOptions = {
  outfile: `cli/${PROGRAM}`,
  banner: { js: "(async (require, $url) => {\n'use strict';\nconst $require = require;" },
  footer: { js: '})' },
  define: { 'import.meta.url': '$url' },
};

/** The start of the program. An older Node, back to 12, understands it, and says that it is too old. */
const START = `#!/usr/bin/env node
import fs from 'fs';
import module from 'module';
import vm from 'vm';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${OLDEST_NODE[0]} || (major === ${OLDEST_NODE[0]} && minor < ${OLDEST_NODE[1]})) {
  process.stderr.write(${JSON.stringify(tooOld('VERSION')).replace('VERSION', '" + process.version + "')});
  process.exit(78);
}
const file = (name) => new URL(name, import.meta.url);
let cachedData;
try {
  cachedData = fs.readFileSync(file('./${CODE}'));
} catch {}
const script = new vm.Script(fs.readFileSync(file('./${PROGRAM}'), 'latin1'), {
  filename: file('./${PROGRAM}').href,
  cachedData,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
// For a program that stops waiting before it ends.
process.exitCode = 13;
script.runInThisContext()(module.createRequire(import.meta.url), import.meta.url);
`;

const isAscii = (text) => /^[\0-\x7f]*$/.test(text);

/** The bundler writes strings with escapes, but leaves regular expressions as they are. */
function requireComment(line) {
  const before = line.slice(0, line.search(/[^\0-\x7f]/)).trimStart();
  if (/^(\*|\/\*)|\/\//.test(before)) return;
  throw new Error(`write the characters outside ASCII as escapes (\\u00e9): ${line.trim().slice(0, 200)}`);
}

/** Writes the entry that starts the script, and the code that was compiled for one command. */
export function writeStart(dist) {
  // Only comments have characters outside ASCII; without those the source is read four times as fast and takes half the
  // memory.
  const program = join(dist, 'cli', PROGRAM);
  const source = readFileSync(program, 'utf8');
  for (const line of source.split('\n')) if (!isAscii(line)) requireComment(line);
  writeFileSync(program, source.replace(/[^\0-\x7f]/g, '?'));
  writeFileSync(join(dist, 'cli/main.js'), START);
  const home = mkdtempSync(join(tmpdir(), 'mnemesh-build-'));
  try {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), dist], {
      env: { ...process.env, SVC_HOME: home, SVC_DB: join(home, 'mnemesh.db'), SVC_EMBED_BACKEND: 'none' },
      encoding: 'utf8',
      timeout: 60_000,
    });
    // Without the compiled code commands only start more slowly.
    if (status !== 0) say(`commands will start more slowly: ${stderr}`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The process that runs one command and stores the code compiled for it. */
async function run(dist) {
  const place = pathToFileURL(join(dist, 'cli/main.js')).href;
  const script = new Script(readFileSync(join(dist, 'cli', PROGRAM), 'latin1'), {
    filename: new URL(PROGRAM, place).href,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  process.once('exit', (code) => {
    if (code === 0) writeFileSync(join(dist, 'cli', CODE), script.createCachedData());
  });
  process.argv = [process.argv[0], fileURLToPath(place), 'recall', 'nothing', '--json'];
  await script.runInThisContext()(createRequire(place), place);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(process.argv[2]);
