import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { at } from './project.mjs';

const execute = promisify(execFile);

/** Where Debian has each version with the extensions AGE and pgvector. */
const SUITES = { 17: 'trixie', 18: 'forky' };
export const FETCHED_VERSIONS = Object.keys(SUITES).map(Number);

/** The folder of a processor's libraries, and the program that loads them. */
const LOADERS = {
  x64: ['x86_64-linux-gnu', 'ld-linux-x86-64.so.2'],
  arm64: ['aarch64-linux-gnu', 'ld-linux-aarch64.so.1'],
};

/** Libraries of compilers and scripts, without which the server runs. */
const UNNEEDED = /llvm|libz3|perl|python|tcl/;
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const TIMEOUT_MS = 300_000;

/**
 * Unpacks a server with both extensions from the package source of this machine into `.cache`, without any change to the
 * system; answers the folder of its programs. Throws an Error that says why it cannot.
 */
export async function fetchPostgres(version) {
  const folder = at(`.cache/postgres-${version}`);
  const programs = join(folder, 'usr/lib/postgresql', String(version), 'bin');
  if (existsSync(programs)) return programs;
  const loader = process.platform === 'linux' ? LOADERS[process.arch] : undefined;
  if (loader === undefined)
    throw new Error(`Debian has no such server for ${process.platform} ${process.arch}`);
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  try {
    const root = join(draft, 'root');
    for (const file of await download(version, draft)) await execute('dpkg-deb', ['-x', file, root]);
    // Debian's server compiles long queries with a library that is left out here.
    const library = join(root, 'usr/lib/postgresql', String(version), 'lib');
    for (const name of ['llvmjit.so', 'llvmjit_types.bc', 'bitcode'])
      rmSync(join(library, name), { recursive: true, force: true });
    for (const name of ['share/doc', 'share/man', 'share/locale'])
      rmSync(join(root, 'usr', name), { recursive: true, force: true });
    wrapPrograms(join(root, 'usr/lib/postgresql', String(version), 'bin'), loader);
    renameSync(root, folder);
    return programs;
  } catch (error) {
    throw new Error(
      String(error.stderr || error.message)
        .trim()
        .split('\n')
        .at(-1),
      { cause: error },
    );
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Asks apt with lists and a state of its own; answers the packages that it downloaded. */
async function download(version, draft) {
  const source = await packageSource();
  const packages = join(draft, 'packages');
  for (const each of ['lists/partial', 'cache/archives/partial', 'packages'])
    mkdirSync(join(draft, each), { recursive: true });
  writeFileSync(join(draft, 'status'), '');
  const list = join(draft, 'sources.list');
  const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  writeFileSync(list, `deb ${signed}${source} ${SUITES[version]} main\n`);
  const settings = {
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State': draft,
    'Dir::State::lists': join(draft, 'lists'),
    'Dir::State::status': join(draft, 'status'),
    'Dir::Cache': join(draft, 'cache'),
    'Acquire::Languages': 'none',
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': '',
    'Debug::NoLocking': '1',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (...words) =>
    execute('apt-get', [...options, '-qq', ...words], {
      cwd: packages,
      timeout: TIMEOUT_MS,
      maxBuffer: 2 ** 26,
    });
  await apt('update');
  const wanted = [`postgresql-${version}`, `postgresql-${version}-age`, `postgresql-${version}-pgvector`];
  const { stdout } = await apt('--simulate', 'install', ...wanted);
  const needed = [...stdout.matchAll(/^Inst (\S+)/gm)]
    .map(([, name]) => name)
    .filter((name) => (/^lib/.test(name) && !UNNEEDED.test(name)) || name.startsWith('postgresql-client'));
  await apt('download', ...wanted, ...needed);
  return readdirSync(packages).map((name) => join(packages, name));
}

/** The address from which this machine takes Debian's packages. */
async function packageSource() {
  const format = '$(REPO_URI)';
  const { stdout } = await execute('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  const found = stdout.split('\n').find((each) => /\/debian\/?$/.test(each));
  if (found === undefined) throw new Error('apt has no package source of Debian here');
  return found;
}

/** Programs of a newer Debian need its own C library: a script in front of each one names it. */
function wrapPrograms(folder, [libraries, loader]) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (readFileSync(path).subarray(1, 4).toString('latin1') !== 'ELF') continue;
    renameSync(path, `${path}.program`);
    const script = [
      '#!/bin/sh',
      `libraries="\${0%/*}/../../../${libraries}"`,
      `exec "$libraries/${loader}" --library-path "$libraries" --argv0 "$0" "$0.program" "$@"`,
    ];
    writeFileSync(path, `${script.join('\n')}\n`, { mode: 0o755 });
  }
}
