import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { at, PROJECT, say } from './project.mjs';

const STAMP = at('node_modules/.installed-for');

/**
 * Installs the dependencies when the lockfile, the platform or Node's binary interface changed since the last
 * installation.
 */
export function install() {
  const wanted = fingerprint();
  if (read(STAMP) === wanted) return;
  if (!isComplete()) {
    say('installing dependencies …');
    // The strict form refuses a lockfile that was written without access to packages for other platforms.
    const strict = npm(['ci', '--dry-run'], 'ignore') === 0;
    if (npm(strict ? ['ci'] : ['install', '--no-save'], 2) !== 0) giveUp();
  }
  if (!nativePartLoads()) {
    say(`building native parts for Node ${process.version} …`);
    if (npm(['rebuild'], 2) !== 0 || !nativePartLoads()) giveUp();
  }
  writeFileSync(STAMP, wanted);
}

function giveUp() {
  say('the dependencies could not be installed; see the messages of npm above');
  process.exit(1);
}

function npm(words, output) {
  const script = process.env.npm_execpath;
  const [command, ...before] = script?.endsWith('.js') ? [process.execPath, script] : ['npm'];
  return spawnSync(command, [...before, ...words, '--include=dev'], {
    cwd: PROJECT,
    env: { ...process.env, ...compilerFlags() },
    stdio: ['ignore', output, output],
    shell: command === 'npm' && process.platform === 'win32',
  }).status;
}

/**
 * From 24.19 on, Node's header for native objects registers a clean-up hook for each object and removes it during
 * garbage collection, when it has no context to remove it from, and the process aborts (nodejs/node#65446). Native
 * parts that are compiled here use the earlier version of that header.
 */
function compilerFlags() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (process.platform === 'win32' || major < 24 || (major === 24 && minor < 19)) return {};
  const flags = [process.env.CXXFLAGS, `-include ${at('cli/dev/native-objects.h')}`];
  return { CXXFLAGS: flags.filter(Boolean).join(' ') };
}

function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(at('package-lock.json')));
  return hash.update(`${process.platform} ${process.arch} ${process.versions.modules}`).digest('hex');
}

/** True when the installation matches the lockfile. */
function isComplete() {
  const installed = JSON.parse(read(at('node_modules/.package-lock.json')) ?? '{}').packages ?? {};
  const { packages } = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([path, { version, optional }]) => {
    // Packages for other platforms are not installed.
    const present = installed[path];
    return path === '' || (present === undefined ? optional === true : present.version === version);
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
