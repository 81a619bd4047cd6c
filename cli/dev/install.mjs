import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { at, PROJECT, say, step } from './project.mjs';

const STAMP = at('node_modules/.installed-for');
const INSTALLED = at('node_modules/.package-lock.json');
const LOG = at('.build-install.log');
const SQLITE = at('node_modules/better-sqlite3');

/**
 * Installs the dependencies when the lockfile, the platform or Node's binary interface changed since the last
 * installation. Answers when the JavaScript of all is there; `native` resolves once SQLite's native part is too.
 */
export async function install() {
  const wanted = fingerprint();
  if (read(STAMP) === wanted) return { native: Promise.resolve() };
  rmSync(LOG, { force: true });
  if (!isComplete()) await installPackages();
  return { native: installNativePart().then(() => writeFileSync(STAMP, wanted)) };
}

async function installPackages() {
  const task = 'installing dependencies';
  const flags = ['--ignore-scripts', '--include=dev'];
  const adding = ['install', '--no-save', ...flags];
  // Where most packages are there, only the others are fetched, and SQLite's native part stays.
  const first = await npm(task, read(INSTALLED) === undefined ? ['ci', ...flags] : adding);
  // npm refuses a lockfile that was written without access to packages for other platforms.
  const { status, output } = /EUSAGE/.test(first.output) ? await npm(task, adding) : first;
  if (status === 0) return;
  const [reason = 'npm failed'] = output.match(/^npm error (?!code |errno |A complete log).+$/gm) ?? [];
  giveUp(`the dependencies could not be installed: ${reason.replace(/^npm error\s+/, '')}`, [
    [
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|network/i,
      'connect to the npm registry (npm config get registry)',
    ],
    [/EACCES|EPERM/, `let this user write to ${at('node_modules')}`],
    [/ENOSPC/, 'make room on the disk'],
  ]);
}

async function installNativePart() {
  if (nativePartLoads()) return;
  const node = `Node ${process.version}`;
  const words = ['run', 'install', '--prefix', SQLITE];
  const { status, output } = await npm(`fetching or compiling SQLite for ${node} (up to a minute)`, words);
  if (status === 0 && nativePartLoads()) return;
  giveUp(
    `SQLite's native part could be neither fetched nor compiled for ${node}`,
    [
      [
        /not found: make|make: not found|ENOENT.*make/i,
        'install make and a C++ compiler (Debian: build-essential, macOS: xcode-select --install)',
      ],
      [/find any Python|Python.*not found/i, 'install Python 3, make and a C++ compiler'],
      [
        /\b(g\+\+|c\+\+|clang\S*|cc): .*(not found|No such file)/i,
        'install a C++ compiler (Debian: build-essential, macOS: xcode-select --install)',
      ],
      [/Visual Studio/i, 'install the C++ tools of Visual Studio'],
      [
        /headers|node_version\.h|nodejs\.org/i,
        'let this machine reach github.com or nodejs.org, or point npm_config_nodedir at the headers of this Node',
      ],
      [/ENOSPC|No space left/i, 'make room on the disk'],
    ],
    output,
  );
}

/** Two lines: what is missing, and what to do. */
function giveUp(problem, remedies, output = read(LOG) ?? '') {
  const [, remedy] = remedies.find(([pattern]) => pattern.test(output)) ?? [null, 'see what npm wrote'];
  say(`${problem}.`);
  say(`To do: ${remedy}, and start again. All that npm wrote: ${LOG}`);
  process.exit(1);
}

/** Runs npm, and tells again and again what is being done. What npm writes goes to the log. */
function npm(task, words) {
  const script = process.env.npm_execpath;
  const [command, ...before] = script?.endsWith('.js') ? [process.execPath, script] : ['npm'];
  return step(
    task,
    new Promise((resolve) => {
      const child = spawn(command, [...before, ...words], {
        cwd: PROJECT,
        env: { npm_config_jobs: 'max', ...process.env, ...compilerFlags() },
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: command === 'npm' && process.platform === 'win32',
      });
      let output = '';
      const take = (text) => {
        output += text;
      };
      child.stdout.setEncoding('utf8').on('data', take);
      child.stderr.setEncoding('utf8').on('data', take);
      const end = (status) => {
        writeFileSync(LOG, `> npm ${words.join(' ')}\n${output}\n`, { flag: 'a' });
        resolve({ status, output });
      };
      child.once('error', (error) => {
        output += `${error.message}\n`;
        end(1);
      });
      child.once('close', end);
    }),
  );
}

/** Parts that are compiled for Node 24.19 and newer use an earlier version of one header; the header says why. */
function compilerFlags() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (process.platform === 'win32' || major < 24 || (major === 24 && minor < 19)) return {};
  const flags = [process.env.CXXFLAGS, `-include ${at('storage/sqlite/native-objects.h')}`];
  return { CXXFLAGS: flags.filter(Boolean).join(' ') };
}

function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(at('package-lock.json')));
  return hash.update(`${process.platform} ${process.arch} ${process.versions.modules}`).digest('hex');
}

/** True when the installation matches the lockfile. */
function isComplete() {
  const installed = JSON.parse(read(INSTALLED) ?? '{}').packages ?? {};
  const { packages } = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([path, { version, os, cpu, libc }]) => {
    // Packages for other platforms are not installed.
    const present = installed[path];
    const elsewhere = (os ?? cpu ?? libc) !== undefined;
    if (path === '') return true;
    return present === undefined ? elsewhere : present.version === version && existsSync(at(path));
  });
}

/** Tests it in a separate process: a module that failed to load once cannot be loaded again in the same one. */
function nativePartLoads() {
  const program = "new (require('better-sqlite3'))(':memory:').close()";
  return spawnSync(process.execPath, ['-e', program], { cwd: PROJECT, stdio: 'ignore' }).status === 0;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
