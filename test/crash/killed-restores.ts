import assert from 'node:assert/strict';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { run } from '../surface/cli/cli-process.js';

export const titlesOf = (path: string): string[] => {
  const db = new Database(path, { readonly: true });
  const titles = db.prepare('SELECT title FROM memories ORDER BY title').pluck().all() as string[];
  db.close();
  return titles;
};
export const store = (home: string, title: string) =>
  run(home, ['store', '--title', title, '--content', 'x']);

/** Kills the process before the nth call that changes the names or contents of files. */
const killAt = (n: number) => {
  const source = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; let calls = 0;
    for (const name of ['copyFileSync', 'renameSync', 'linkSync', 'rmSync', 'fsyncSync']) {
      const real = fs[name];
      fs[name] = (...args) => {
        calls += 1;
        if (calls === ${n}) process.kill(process.pid, 'SIGKILL');
        return real(...args);
      };
    }
    syncBuiltinESMExports();`;
  return `--import data:text/javascript;base64,${Buffer.from(source).toString('base64')}`;
};

/** A restore that is killed at every nth step from the first one on leaves the old or the new database. */
export async function killedRestores(first: number, every: number): Promise<void> {
  const home = temporaryFolder('restore-kill');
  const db = join(home, 'mnemesh.db');
  await store(home, 'old and new');
  await store(home, 'forgotten');
  await run(home, ['forget', '--pattern', 'forgotten']);
  const made = await run(home, ['backup', '--to', join(home, 'b'), '--json']);
  const { path: from } = JSON.parse(made.out) as { path: string };
  let killed = 0;
  let which = 'new';
  let old: string[] = [];
  for (let n = first; ; n += every) {
    assert.ok(n < 60 + every, 'it never comes to its end');
    if (which === 'new') {
      assert.equal((await store(home, `later ${n}`)).code, 0);
      await run(home, ['forget', '--pattern', 'later']);
      assert.equal((await store(home, `last ${n}`)).code, 0);
      old = titlesOf(db);
    }
    const done = await run(home, ['restore', '--from', from], { env: { NODE_OPTIONS: killAt(n) } });
    const now = titlesOf(db);
    which = JSON.stringify(now) === JSON.stringify(old) ? 'old' : 'new';
    if (which === 'new') assert.deepEqual(now, ['old and new'], `killed at ${n}`);
    assert.deepEqual(auditLog(db), [], `killed at ${n}`);
    const chain = await run(home, ['verify-signed-events-chain']);
    assert.equal(chain.code, 0, `killed at ${n}, ${which}: ${chain.err}`);
    if (done.code === 0) {
      assert.equal(which, 'new');
      break;
    }
    assert.equal(done.code, 'SIGKILL', done.err);
    killed += 1;
  }
  assert.ok(killed >= Math.floor(10 / every), `it was killed at ${killed} steps`);
}
