import { newSeed } from '../../../node/identity/key-file.js';
import { installSeed } from '../../../node/identity/key-files.js';
import { systemRandom } from '../../../node/seams.js';

const ROTATIONS = 40;

/**
 * Waits for a line, so that several of these begin together, then makes a key and prints it, or the refusal's code.
 * With `rotate` it replaces the key many times.
 */
const [keyDir, agentId, mode] = process.argv.slice(2) as [string, string, string];
process.stdout.write('ready\n');
process.stdin.once('data', () => {
  const nowMs = Date.parse('2026-07-28T12:00:00Z');
  const change = { keyDir, agentId, force: mode !== 'first', nowMs, random: systemRandom };
  let result = installSeed(change, newSeed());
  for (let turn = 0; mode === 'rotate' && turn < ROTATIONS; turn += 1)
    result = installSeed(change, newSeed());
  const text = result.ok ? Buffer.from(result.value.publicKey).toString('hex') : result.error.code;
  process.stdout.write(`${text}\n`, () => process.exit(0));
});
