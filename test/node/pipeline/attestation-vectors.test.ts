import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Services } from '../../../node/pipeline/call.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { ERRORS } from '../../../protocol/base/errors.js';
import { tenant } from '../../support/memories.js';
import type { WriteVector } from '../../support/signature-fixtures.js';
import { openTestNode } from '../../support/test-node.js';
import { aCaller } from './operations.js';

const VECTORS = JSON.parse(readFileSync('fixtures/attestation.json', 'utf8')) as WriteVector[];

/** A caller over HTTP, for whom the node never signs. */
const over = (agentId: string, admin = false) =>
  aCaller({ agentId, viewer: tenant(agentId), admin, local: false });

async function call(
  services: Services,
  name: string,
  agentId: string,
  input: Record<string, unknown>,
  admin = false,
) {
  const operation = OPERATIONS.find((known) => known.name === name)!;
  return runOperation(
    operation,
    { surface: 'http', caller: over(agentId, admin), input, unknownFields: 'refuse' },
    services,
  );
}

describe('the attestation vectors on a real node', () => {
  /** Every vector has a node of its own age: its agents and its clock, and nothing stored before. */
  async function prepared(vector: WriteVector) {
    const fresh = await openTestNode({ requireAttestation: true });
    const nowMs = Date.parse(vector.now);
    const services: Services = { ...fresh.services, clock: { ...fresh.services.clock, nowMs: () => nowMs } };
    const { agent_id, bound_public_key } = vector;
    const agent = { agent_id, agent_type: 'ai:test' };
    const registered = await call(services, 'memory_agent_register', agent_id, agent);
    assert.ok(registered.ok, JSON.stringify(registered));
    if (bound_public_key !== null) {
      const bound = await call(
        services,
        'agent_bind_key',
        'ai:admin',
        { id: agent_id, pubkey_b64: bound_public_key },
        true,
      );
      assert.ok(bound.ok, JSON.stringify(bound));
    }
    return { services, close: () => fresh.close() };
  }

  for (const vector of VECTORS) {
    it(`${vector.name}: ${vector.status} ${vector.code ?? ''}`.trimEnd(), async () => {
      const { services, close } = await prepared(vector);
      try {
        const store = () => call(services, 'memory_store', vector.agent_id, { ...vector.body });
        const answer = await store();
        assert.equal(answer.ok ? null : answer.error.code, vector.code, JSON.stringify(answer));
        assert.equal(answer.ok ? 201 : ERRORS[answer.error.code].http, vector.status);
        const listed = await call(services, 'memory_list', vector.agent_id, {
          namespace: vector.body['namespace'] ?? 'global',
        });
        assert.ok(listed.ok);
        const memories = listed.value['memories'] as { metadata: Record<string, unknown> }[];
        if (!answer.ok) {
          assert.deepEqual(memories, [], 'a refused write changes nothing');
          return;
        }
        assert.equal(memories[0]?.metadata['attest_level'], 'agent_attested');
        assert.equal(memories[0]?.metadata['attested_by'], undefined, 'the author attests it, not the node');
        const again = await store();
        assert.ok(!again.ok && ERRORS[again.error.code].http === 409, 'the same envelope is accepted once');
      } finally {
        await close();
      }
    });
  }
});
