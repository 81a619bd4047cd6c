import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { cleanEnvironment, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { event, until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

const ROWS = 1000;
const STOPS_WITHIN_MS = 300;
const FREEZES_MAX = 20;

async function filledHome(): Promise<{ readonly home: string; readonly to: string }> {
  const home = temporaryFolder('l6');
  const memories = Array.from({ length: ROWS }, (_, n) => ({
    title: `row ${n}`,
    content: `${n} `.repeat(2500),
    tier: 'mid',
  }));
  for (const namespace of ['a', 'b']) {
    const imported = await run(home, ['import', '--json'], {
      stdin: JSON.stringify({ memories: memories.map((each) => ({ ...each, namespace })), links: [] }),
    });
    assert.equal(imported.code, 0, imported.err);
  }
  return { home, to: join(home, 'b') };
}

const partials = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.partial'));

/** Names in a folder that may not be there yet. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A backup that has begun to write its copy. */
async function begun(home: string, to: string) {
  const before = new Set(namesIn(to));
  const child = spawn(process.execPath, [MAIN, 'backup', '--to', to], {
    env: cleanEnvironment(home),
    stdio: 'ignore',
  });
  const isNew = (name: string) => name.endsWith('.db.partial') && !before.has(name);
  await until('the backup writes', () => namesIn(to).some(isNew), { everyMs: 0 });
  return child;
}

/** True when no frozen process holds a lock that opening the database takes. */
function opens(home: string): boolean {
  try {
    const db = new Database(join(home, 'mnemesh.db'), { timeout: STOPS_WITHIN_MS });
    try {
      db.exec('BEGIN IMMEDIATE; ROLLBACK');
    } finally {
      db.close();
    }
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError) return false;
    throw error;
  }
}

/** Stops a process where it holds no lock of the database: a process that is stopped never gives one back. */
async function freeze(child: ReturnType<typeof spawn>, home: string): Promise<void> {
  for (let tries = 1; tries <= FREEZES_MAX; tries += 1) {
    child.kill('SIGSTOP');
    // The signal arrives a little later.
    await delay(STOPS_WITHIN_MS);
    if (opens(home)) return;
    child.kill('SIGCONT');
    await delay(1);
  }
  assert.fail('the backup held a lock at every stop');
}

async function signalled(child: ReturnType<typeof spawn>, signal: NodeJS.Signals): Promise<void> {
  const ended = event('the backup ends', child, 'close');
  child.kill(signal);
  await ended;
}

interface Answer {
  readonly path: string;
  readonly pruned: number;
  readonly unfinished: number;
}

async function backUp(home: string, to: string, ...more: string[]): Promise<Answer> {
  const made = await run(home, ['backup', '--to', to, '--json', ...more]);
  assert.equal(made.code, 0, made.err);
  return JSON.parse(made.out) as Answer;
}

describe('a backup that was killed', () => {
  it('leaves nothing that the next one does not remove and count', async () => {
    const { home, to } = await filledHome();
    await backUp(home, to);
    await signalled(await begun(home, to), 'SIGKILL');
    assert.ok(partials(to).length > 0, 'it was killed in the middle');
    const strange = ['mnemesh.db-notes.db.partial', 'other.db-20260101T000000000Z-1a2b3c4d.db.partial'];
    for (const name of strange) writeFileSync(join(to, name), 'not ours');
    const { unfinished, pruned, path } = await backUp(home, to, '--keep', '1');
    assert.deepEqual([unfinished, pruned], [1, 1]);
    assert.deepEqual(partials(to).sort(), strange.sort(), 'it removes only files of its own pattern');
    assert.equal(readdirSync(to).length, 2 + strange.length, 'one backup with its manifest');
    assert.equal((await run(home, ['restore', '--from', path])).code, 0);
  });

  it('is told from one that still runs', async (context) => {
    const { home, to } = await filledHome();
    const running = await begun(home, to);
    context.after(() => running.kill('SIGKILL'));
    await freeze(running, home);
    const own = partials(to);
    assert.ok(own.length > 0, 'it was stopped in the middle');
    const { unfinished } = await backUp(home, to);
    assert.equal(unfinished, 0);
    assert.deepEqual(partials(to), own, 'its files stay');
    const ended = event('the first backup ends', running, 'close');
    running.kill('SIGCONT');
    const [code] = await ended;
    assert.equal(code, 0);
    assert.deepEqual(partials(to), []);
  });

  it('becomes a backup when only the name of its manifest was missing', async () => {
    const { home, to } = await filledHome();
    const { path } = await backUp(home, to);
    const manifest = path.replace(/\.db$/, '.manifest.json');
    renameSync(manifest, `${manifest}.partial`);
    const { unfinished, pruned } = await backUp(home, to, '--keep', '1');
    assert.deepEqual([unfinished, pruned], [0, 1], '--keep counts it');
    assert.equal(readdirSync(to).length, 2);
  });
});
