import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

describe('the kind that a policy finds in the words', { timeout: 60_000 }, () => {
  const home = temporaryFolder('classified');
  const typed = async (...words: string[]) => {
    const done = await run(home, [...words, '--json'], { env: { SVC_AGENT_ID: 'ai:me' } });
    assert.equal(done.code, 0, done.err);
    return JSON.parse(done.out) as { kind: string; metadata: { attest_level: string } };
  };

  it('is the one that the machine signs', async () => {
    const policy = '{"write": "any", "auto_classify_kind": "regex_only"}';
    await typed('namespace', 'set-standard', '--namespace', 'notes', '--governance', policy);
    const text = ['--content', 'We decided to use Postgres', '--namespace', 'notes'];
    const stored = await typed('store', '--title', 'database', ...text);
    assert.deepEqual([stored.kind, stored.metadata.attest_level], ['decision', 'agent_attested']);
    assert.equal((await typed('store', '--title', 'stated', '--kind', 'claim', ...text)).kind, 'claim');
  });
});
