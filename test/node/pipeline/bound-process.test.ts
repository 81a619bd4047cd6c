import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import { FULL_PROFILE } from '../../../node/config/tool-profile.js';
import { localIdentity } from '../../../node/identity/local-caller.js';
import { callTool } from '../../../node/mcp/call-tool.js';
import { localAccess } from '../../../node/mcp/local-access.js';
import { FIRST_VERSION, featuresOf } from '../../../node/mcp/protocol-version.js';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import type { Services } from '../../../node/pipeline/call.js';
import type { Operation } from '../../../node/pipeline/operation.js';
import { type Request, runOperation } from '../../../node/pipeline/pipeline.js';
import { bindKey } from '../../support/agents.js';
import { OPERATOR } from '../../support/memories.js';
import { agentKey, signedStoreBody } from '../../support/signing.js';
import { openTestNode } from '../../support/test-node.js';

let node: Awaited<ReturnType<typeof openTestNode>>;
afterEach(() => node.close());

async function openProcess(settings: SettingFlags, everywhere = false): Promise<Services> {
  node = await openTestNode({ agentId: 'B', ...settings });
  const { services } = node;
  return {
    ...services,
    settings: { ...services.settings, requireAttestationEverywhere: everywhere },
  };
}

/** The row that `memory_store` of an MCP server leaves, or the code of its refusal. */
async function stored(services: Services, args: Record<string, unknown>) {
  const { settings, random, clock, store } = services;
  const identity = localIdentity(settings, { hostname: 'box', pid: 42 }, random);
  const fields = { title: 'a plan', content: 'text', ...args };
  const tools = {
    open: () => Promise.resolve(),
    run: (operation: Operation, request: Request) => runOperation(operation, request, services),
    close: () => Promise.resolve(),
  };
  const session = { access: localAccess(tools, identity), profile: FULL_PROFILE } as const;
  const result = await callTool(memoryStore, fields, session, {
    ...{ clientName: 'client', features: featuresOf(FIRST_VERSION), progress: null },
    cancelled: new AbortController().signal,
  });
  const answer = JSON.parse((result.content[0] as { text: string }).text);
  if (result.isError === true) return { code: answer.code as string };
  const now = new Date(clock.nowMs()).toISOString();
  const found = await store.query({ kind: 'get-memory', id: answer.id, viewer: OPERATOR, now });
  assert.ok(found.ok);
  const { metadata, write_signature } = found.value.memory;
  const { agent_id, attest_level, attested_by } = metadata;
  return { agent_id, attest_level, signed: write_signature !== null || attested_by !== undefined };
}

const CLAIMED = { agent_id: 'A', attest_level: 'claimed', signed: false };

describe('a process that SVC_AGENT_ID binds to B', () => {
  it('writes claimed memories in the name of A, however it names A', async () => {
    for (const requireAttestation of [true, false]) {
      const services = await openProcess({ requireAttestation });
      assert.deepEqual(await stored(services, { title: 'one', agent_id: 'A' }), CLAIMED);
      assert.deepEqual(await stored(services, { title: 'two', metadata: { agent_id: 'A' } }), CLAIMED);
      const hidden = { title: 'three', agent_id: 'A', scope: 'private' };
      assert.deepEqual(await stored(services, hidden), CLAIMED);
      if (requireAttestation) await node.close();
    }
  });

  it('writes attested memories in its own name, and in that of a process without an agent', async () => {
    const attested = (agent_id: string) => ({ agent_id, attest_level: 'agent_attested', signed: true });
    const services = await openProcess({});
    assert.deepEqual(await stored(services, {}), attested('B'));
    assert.deepEqual(await stored(services, { title: 'two', agent_id: 'B' }), attested('B'));
    await node.close();
    assert.deepEqual(await stored(await openProcess({ agentId: null }), { agent_id: 'A' }), attested('A'));
  });

  it('is refused in the name of an A with a key, unless A itself signed', async () => {
    const services = await openProcess({});
    const key = agentKey('A');
    await bindKey(services.store, key);
    assert.deepEqual(await stored(services, { agent_id: 'A' }), { code: 'ATTESTATION_FAILED' });
    const body = signedStoreBody(key, { title: 'a plan', content: 'text' }, new Date().toISOString());
    assert.deepEqual(await stored(services, body), {
      ...{ agent_id: 'A', attest_level: 'agent_attested', signed: true },
    });
  });

  it('does not get the signature of the machine when A has bound the key of the machine', async () => {
    const services = await openProcess({});
    const publicKeyText = Buffer.from(services.machineKey!.publicKey).toString('base64');
    await bindKey(services.store, { ...agentKey('A'), publicKeyText });
    assert.deepEqual(await stored(services, { agent_id: 'A' }), { code: 'ATTESTATION_FAILED' });
  });

  it('is refused in the name of A where the operator requires attestation by name', async () => {
    const services = await openProcess({}, true);
    assert.deepEqual(await stored(services, { agent_id: 'A' }), { code: 'ATTESTATION_FAILED' });
  });
});
