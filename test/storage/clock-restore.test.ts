import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { onlyOnSqlite } from '../support/test-store.js';
import { run } from '../surface/cli/cli-process.js';

const DAYS_MS = 10 * 86_400_000;
const SHIFT_CLOCK = fileURLToPath(new URL('../mesh/processes/shift-clock.js', import.meta.url));

describe('a backup of a log that was ahead', () => {
  const skip = onlyOnSqlite('a backup copies the file');
  it('is restored with a clock of the present', { skip }, async () => {
    const home = temporaryFolder('m4-restore');
    const backups = join(home, 'backups');
    mkdirSync(backups);
    const shifted = { NODE_OPTIONS: `--import ${SHIFT_CLOCK}`, TEST_CLOCK_OFFSET_MS: String(DAYS_MS) };
    const must = async (args: readonly string[], env: Record<string, string> = {}) => {
      const { code, out, err } = await run(home, args, { env });
      assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`);
      return out;
    };
    await must(['store', '--title', 'right', '--content', 'under a right clock']);
    await must(['store', '--title', 'ahead', '--content', 'under a clock that is ahead'], shifted);
    await must(['backup', '--to', backups]);
    const file = readdirSync(backups).find((name) => name.endsWith('.db'))!;
    await must(['restore', '--from', join(backups, file)]);
    const state = JSON.parse(await must(['repair', '--clock', '--dry-run', '--json'])) as object;
    assert.deepEqual(
      { ...state, origin: '' },
      { ahead_seconds: 0, operations: 0, restamped: false, origin: '' },
    );
    const listed = await must(['list', '--json']);
    for (const title of ['right', 'ahead']) assert.ok(listed.includes(`"${title}"`), listed);
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });
});
