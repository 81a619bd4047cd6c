import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const ROUNDS = Number(process.env['PROPERTY_ROUNDS'] ?? 20);
const DIST = join(import.meta.dirname);

/** The test files that check properties, directly or by helpers beside them. */
const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js') && !name.endsWith('.long.test.js'))
  .map((name) => join(DIST, name))
  .filter((path) =>
    /support\/(properties|version-sets)\.js|drawn-steps\.js/.test(readFileSync(path, 'utf8')),
  );

describe('properties under new seeds', () => {
  it(`hold in ${ROUNDS} rounds of drawn seeds`, () => {
    assert.ok(files.length > 25, `only ${files.length} files`);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-timeout=600000', ...files], {
        encoding: 'utf8',
        env: { ...process.env, PROPERTY_SEED: 'random', NODE_TEST_CONTEXT: undefined },
        maxBuffer: 1 << 28,
      });
      assert.equal(status, 0, stdout.slice(-20_000));
    }
  });
});
