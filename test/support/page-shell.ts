import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment, MAIN, temporaryFolder } from './daemon-process.js';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Blocks of code of a page of docs/: those of a section (the heading; '' before the first) in a language. */
export function pageBlocks(name: string): (heading: string, language: string) => readonly string[] {
  const page = readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), 'utf8');
  const sections = new Map(
    page.split(/^## /m).map((section, at) => [at === 0 ? '' : section.split('\n')[0]!, section]),
  );
  return (heading, language) => {
    const section = sections.get(heading) ?? assert.fail(`${name} has no section ${heading}`);
    const blocks = section.matchAll(/^```(\w*)\n(.*?)^```$/gms);
    return [...blocks].flatMap(([, of, code]) => (of === language ? code! : []));
  };
}

/**
 * A shell in which a page's commands run as its reader's do: `mnemesh` is on the path, and settings are the defaults.
 * `extra` replaces variables; undefined removes one.
 */
export function pageShell(home: string, extra: Readonly<Record<string, string | undefined>> = {}) {
  const bin = temporaryFolder('bin');
  const main = join(bin, 'mnemesh');
  writeFileSync(main, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(main, 0o755);
  const path = `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const env = cleanEnvironment(home, { HOME: home, PATH: path });
  delete env['SVC_REQUIRE_AGENT_ATTESTATION'];
  for (const [name, value] of Object.entries(extra)) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
  const run = (script: string): Promise<Ended> =>
    new Promise((resolve) => {
      execFile('sh', ['-euc', script], { env, cwd: home }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  /** The output of a script that must end well. */
  const done = async (script: string): Promise<string> => {
    const { code, out, err } = await run(script);
    assert.equal(code, 0, `${script}\n${out}${err}`);
    return out;
  };
  return { env, run, done };
}
