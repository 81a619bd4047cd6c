import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { installSeed } from '../../../node/identity/key-files.js';
import { verifyWrite } from '../../../node/identity/sign-write.js';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import { parseInput } from '../../../node/pipeline/parse.js';
import { signAsAgent } from '../../../node/pipeline/sign-as-agent.js';
import { systemCrypto, systemRandom } from '../../../node/seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { agentKey } from '../../support/signing.js';
import { aCaller, someServices } from './operations.js';

const NOW_MS = Date.parse('2026-07-28T12:00:00.000Z');
const KEY = agentKey('ai:writer');
const keyDir = join(temporaryFolder('sign-as-agent'), 'keys');
installSeed({ keyDir, agentId: KEY.agentId, force: false, nowMs: NOW_MS, random: systemRandom }, KEY.seed);

const services = {
  ...someServices({ settings: { keyDir, defaultNamespace: 'home' } as never }),
  crypto: systemCrypto,
};

function signed(body: Record<string, unknown>, caller: Parameters<typeof aCaller>[0] = {}) {
  const parsed = parseInput(memoryStore, { title: 'a title', content: 'some content', ...body }, 'refuse');
  assert.ok(parsed.ok);
  const writer = aCaller({ agentId: KEY.agentId, claimed: 'explicit', local: true, ...caller });
  return { parsed: parsed.value, result: signAsAgent(parsed.value, writer, NOW_MS, services) };
}

const judge = (fields: Record<string, unknown>, change: Record<string, string> = {}) =>
  verifyWrite(
    {
      agentId: KEY.agentId,
      namespace: String(fields['namespace'] ?? 'home'),
      title: String(fields['title']),
      kind: String(fields['kind']),
      content: String(fields['content']),
      ...change,
    },
    { signature: String(fields['signature']), created_at: fields['created_at'] },
    KEY.signer.publicKey,
    NOW_MS,
    systemCrypto,
  );

describe('a write that is signed with the agent’s key file', () => {
  it('verifies over what will be stored: trimmed title, default namespace and kind', () => {
    for (const body of [{}, { title: '  spaces  ' }, { namespace: 'team/a', kind: 'decision' }]) {
      const { result } = signed({ ...body, sign: true });
      assert.ok(result.ok);
      assert.equal(result.value['created_at'], '2026-07-28T12:00:00.000Z');
      assert.ok(judge(result.value).ok, JSON.stringify(body));
      for (const field of ['agentId', 'namespace', 'title', 'kind', 'content']) {
        assert.ok(!judge(result.value, { [field]: 'another' }).ok, field);
      }
    }
  });

  it('is left alone unless it asks', () => {
    for (const body of [{}, { sign: false }]) {
      const { parsed, result } = signed(body);
      assert.ok(result.ok);
      assert.equal(result.value, parsed);
    }
  });

  it('is refused for a made id and for an agent without a key', () => {
    const codeOf = (result: ReturnType<typeof signed>['result']) => (result.ok ? 'ok' : result.error.code);
    assert.equal(codeOf(signed({ sign: true }, { claimed: 'made' }).result), 'VALIDATION_FAILED');
    assert.equal(codeOf(signed({ sign: true }, { agentId: 'ai:nobody' }).result), 'ATTESTATION_FAILED');
    assert.equal(codeOf(signed({ sign: true }, { agentId: 'Daemon' }).result), 'ATTESTATION_FAILED');
  });
});

describe('sign', () => {
  it('is no field of HTTP or MCP: nobody elsewhere may use the node’s key files', () => {
    assert.ok(memoryStore.http?.every(({ omit }) => omit?.includes('sign')));
    assert.ok(memoryStore.mcp?.omit?.includes('sign'));
  });
});
