/**
 * Writes down what SQLite tells, as what every engine must tell:
 *
 *   npm run build && node test/contract/verbs/write.mjs
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'verbs-'));
const written = join(folder, 'told.ndjson');
const env = { ...process.env, VERBS_WRITTEN: written };
const tests = ['--test', '--test-name-pattern', 'verbs: SQLite', 'dist/test/contract/verbs.test.js'];
const { status } = spawnSync(process.execPath, tests, { env, stdio: 'ignore' });
if (status !== 0) throw new Error('a step did not end');
const told = readFileSync(written, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });
writeFileSync('test/contract/verbs/expected.json', `${JSON.stringify(byScene(told), null, 2)}\n`);

function byScene(lines) {
  const scenes = {};
  for (const [scene, index, said] of lines) {
    scenes[scene] ??= [];
    scenes[scene][index] = said;
  }
  return scenes;
}
