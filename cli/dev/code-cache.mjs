import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OLDEST_NODE, tooOld } from './node-version.mjs';
import { OUTSIDE_HELPERS } from './outside.mjs';

/**
 * The program and its threads as scripts with their compiled code next to them. Reading 5 MB of source takes a fifth of a
 * short command's time; a script, unlike a module, can reuse code that V8 compiled before. V8 refuses code of another
 * version of Node, another processor or other flags, and then compiles the source.
 */
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

/** The script of an entry. */
export const scriptOf = (entry) =>
  entry === PROGRAM_ENTRY ? 'cli/program.js' : entry.replace(/\.js$/, '.script.js');

/** The compiled code of a script. */
export const codeOf = (script) => script.replace(/(\.script)?\.c?js$/, '.code');

/** Commands that run for long. What each needs compiled is a multiple of what others need, so each has code of its own. */
const LONG_COMMANDS = ['serve', 'mcp'];

/** Bytes of bytecode that a function of theirs runs before V8 optimises it; V8 itself waits for 66 to 135 KiB. */
const BUDGET = '--interrupt-budget=20000';

/** The flag of V8 for long commands, on this Node; null for none. */
export const longFlag = () => (Number.parseInt(process.versions.v8, 10) < 12 ? BUDGET : null);

/** Options that make the bundle of an entry a script: a function with the parameters that replace module features. */
export const scriptOptions = (entry) => ({
  outfile: scriptOf(entry),
  format: 'esm',
  banner: { js: `(async (require, $url, $script) => {\n'use strict';\n${OUTSIDE_HELPERS}` },
  footer: { js: '})' },
  define: { 'import.meta.url': '$url' },
});

/** Options that make a library a script: a function that answers what the library exports. */
export const libraryOptions = {
  format: 'cjs',
  banner: { js: '(function (require) {\nvar module = { exports: {} }, exports = module.exports;' },
  footer: { js: 'return module.exports;\n})' },
};

/** An older Node, back to 12, understands the start of the program, and says that it is too old. */
const REFUSAL = `
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${OLDEST_NODE[0]} || (major === ${OLDEST_NODE[0]} && minor < ${OLDEST_NODE[1]})) {
  process.stderr.write(${JSON.stringify(tooOld('VERSION')).replace('VERSION', '" + process.version + "')});
  process.exit(78);
}`;

/**
 * Lets V8 optimise functions of a long command after fewer calls. An agent sends some thousand calls in a session, and a daemon
 * of one user gets hardly more in an hour, so most of them would run before the optimiser looks at their code. Measured over
 * the first 900 notes: a fifth less processor time for each. V8 takes compiled code only under the flags that it was made
 * with, so the flag is set before anything is loaded. V8 12 counts calls instead, and complains about a flag that it does not know.
 */
const CHOICE = `
const long = process.argv.slice(2).find((word) => ${JSON.stringify(LONG_COMMANDS)}.includes(word));
if (long !== undefined && parseInt(process.versions.v8, 10) < 12) v8.setFlagsFromString('${BUDGET}');`;

/**
 * Writes the code of each script at the end of the process or thread, and now and then, as a thread may be ended. A flag that
 * the daemon switches to and fro would be in the code.
 */
const RECORDING = `
v8.setFlagsFromString = () => undefined;
const scripts = new Map();
const write = () => {
  for (const [place, script] of scripts) {
    const fresh = new URL(place.href + '.new');
    fs.writeFileSync(fresh, script.createCachedData());
    fs.renameSync(fresh, place);
  }
};
process.once('exit', write);
setInterval(write, 300).unref();`;

/** The start of an entry; `recording` for one that writes the compiled code instead of reading it. */
function startOf(entry, recording) {
  const isProgram = entry === PROGRAM_ENTRY;
  const script = `./${scriptOf(entry).split('/').at(-1)}`;
  const code = isProgram
    ? `long === undefined ? '${codeOf(script)}' : './' + long + '.code'`
    : `'${codeOf(script)}'`;
  return `${isProgram ? '#!/usr/bin/env node\n' : ''}import fs from 'fs';
import module from 'module';
import v8 from 'v8';
import vm from 'vm';
${isProgram ? REFUSAL + CHOICE : ''}${recording ? RECORDING : ''}
const run = (name, code) => {
  const place = new URL(name, import.meta.url);
  const codePlace = new URL(code || name.replace(/\\.c?js$/, '.code'), import.meta.url);
  let cachedData;
${recording ? '' : '  try {\n    cachedData = fs.readFileSync(codePlace);\n  } catch {}\n'}  const script = new vm.Script(fs.readFileSync(place, 'latin1'), {
    filename: place.href,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
${recording ? '  scripts.set(codePlace, script);\n' : ''}  return script.runInThisContext();
};
${isProgram ? '// For a program that stops waiting before it ends.\nprocess.exitCode = 13;\n' : ''}run('${script}', ${code})(module.createRequire(import.meta.url), import.meta.url, run);
`;
}

const isAscii = (text) => /^[\0-\x7f]*$/.test(text);

/** The bundler writes strings with escapes, but leaves regular expressions as they are. */
function requireComment(line) {
  const before = line.slice(0, line.search(/[^\0-\x7f]/)).trimStart();
  if (/^(\*|\/\*)|\/\//.test(before)) return;
  throw new Error(`write the characters outside ASCII as escapes (\\u00e9): ${line.trim().slice(0, 200)}`);
}

/**
 * Leaves only ASCII in a script. Only comments have other characters; without those the source is read four times as fast and
 * takes half the memory.
 */
export function leaveAscii(file) {
  const source = readFileSync(file, 'utf8');
  for (const line of source.split('\n')) if (!isAscii(line)) requireComment(line);
  writeFileSync(file, source.replace(/[^\0-\x7f]/g, '?'));
}

/** Writes the start of each entry. */
export function writeStarts(dist, { recording }) {
  for (const entry of ENTRIES) writeFileSync(join(dist, entry), startOf(entry, recording));
  chmodSync(join(dist, PROGRAM_ENTRY), 0o755);
}
