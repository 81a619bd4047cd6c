import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PROJECT } from '../../architecture/source-files.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { smallDisk } from '../../support/small-disk.js';
import { run } from './cli-process.js';

const SECRET = `AKIA${'A'.repeat(16)}`;

describe('hooks in a home that cannot be written', { timeout: 120_000 }, () => {
  it('are checked, and decide about a database elsewhere; without one the error says what to do', async (context) => {
    const folder = temporaryFolder('read-only');
    const home = join(folder, 'home');
    const unmount = smallDisk(home, 2);
    if (unmount === null)
      return context.skip('mounting a small disk takes privileges that this run does not have');
    try {
      chmodSync(home, 0o700);
      cpSync(join(PROJECT, 'fixtures/hooks'), join(home, 'hooks'), { recursive: true });
      cpSync(join(home, 'hooks/hooks.toml'), join(home, 'hooks.toml'));
      chmodSync(join(home, 'hooks.toml'), 0o600);
      execFileSync('mount', ['-o', 'remount,ro', home]);

      const checked = await run(home, ['hooks', 'check']);
      assert.equal(checked.code, 0, checked.err);
      for (const args of [
        ['store', '--title', 'a', '--content', 'b'],
        ['hooks', 'list'],
      ]) {
        const { code, err } = await run(home, [...args, '--json']);
        const { code: why, error } = JSON.parse(err) as { code: string; error: string };
        assert.deepEqual([code, why], [74, 'STORAGE_READ_ONLY'], err);
        assert.match(error, /mount the disk for writing/);
      }

      // The hook must see the secret that the node itself would take out.
      const env = {
        SVC_DB: join(folder, 'other/mnemesh.db'),
        SVC_KEY_DIR: join(folder, 'keys'),
        SVC_SECRETS: 'off',
      };
      const stored = await run(home, ['store', '--title', 'a', '--content', 'b'], { env });
      assert.equal(stored.code, 0, stored.err);
      const refused = await run(home, ['store', '--title', 'c', '--content', SECRET, '--json'], { env });
      assert.match(refused.err, /HOOK_VETO/);
      assert.ok(!refused.err.includes(SECRET));
    } finally {
      unmount();
    }
  });
});
