import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PROJECT } from '../../architecture/source-files.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn, run, runAlone } from './cli-process.js';

const file = (name: string) => join(PROJECT, 'fixtures/campaign', name);

describe('campaign validate', () => {
  const home = temporaryFolder('campaign');
  const mnemesh = commandsIn(home);

  it('ends with 0 for valid records, in JSON, JSON Lines and from standard input', async () => {
    for (const name of ['valid.json', 'valid.jsonl']) {
      const { code, out, err } = await mnemesh('campaign', 'validate', file(name));
      assert.deepEqual([code, out, err], [0, 'mnemesh campaign: 2 records, all valid\n', '']);
    }
    const stdin = readFileSync(file('valid.jsonl'), 'utf8');
    assert.equal((await runAlone(home, ['campaign', 'validate', '-'], { stdin })).code, 0);
  });

  it('flags records of another model, which does not make them invalid', async () => {
    const { code, out } = await mnemesh(
      'campaign',
      'validate',
      file('valid.json'),
      '--default-sku',
      'model-2026-01',
      '--json',
    );
    const answer = JSON.parse(out);
    assert.deepEqual([code, answer.valid, answer.sku_mismatches], [0, true, 1]);
    const flags = answer.results.map((each: { line: number; sku_mismatch: boolean }) => [
      each.line,
      each.sku_mismatch,
    ]);
    assert.deepEqual(flags, [
      [2, false],
      [66, true],
    ]);
  });

  it('ends with 1 and says in which line which field is wrong', async () => {
    const { code, out, err } = await mnemesh('campaign', 'validate', file('invalid.jsonl'));
    assert.deepEqual([code, err], [1, '']);
    assert.match(out, /^line 2: turn_id says cold where control_arm says treatment\n/);
    assert.match(out, /line 4: claims_made is required\n/);
    assert.match(out, /line 4: tools_called\[0\]\.extra is not a known field\n/);
    assert.match(out, /line 5: is not JSON: .*\n/);
    assert.match(out, /4 records, 3 invalid\n$/);
    const json = JSON.parse((await mnemesh('campaign', 'validate', file('invalid.jsonl'), '--json')).out);
    assert.deepEqual([json.valid, json.invalid], [false, 3]);
  });

  it('holds records to the frameworks and agents that are named', async () => {
    const args = [
      'campaign',
      'validate',
      file('valid.json'),
      '--framework',
      'alpha',
      '--agent',
      'ai:alice',
      '--agent',
      'ai:bob',
    ];
    const { code, out } = await mnemesh(...args);
    assert.equal(code, 1);
    assert.match(out, /agent_framework must be one of alpha/);
    assert.equal((await mnemesh(...args, '--framework', 'beta')).code, 0);
  });

  it('refuses a file that is missing, empty or no text', async () => {
    assert.equal((await mnemesh('campaign', 'validate', '/nowhere/x')).code, 2);
    assert.equal((await run(home, ['campaign', 'validate', '-'], { stdin: ' \n' })).code, 2);
    assert.equal((await run(home, ['campaign', 'validate', '-'], { stdin: Buffer.from([0xff]) })).code, 2);
  });
});
