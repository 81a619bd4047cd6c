import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { run } from '../cli/cli-process.js';
import { openHttpNode } from './http-node.js';

/** Decisions signed with the secret of the node, checks of actions, quotas, and the bulk store, which asks for the signature of each row. */
const UNGUARDED = [
  'decide_approval',
  'memory_check_agent_action',
  'memory_quota_status',
  'memory_store_bulk',
];

/** Writes about agents, their keys and tokens, and the replay of events: refused over HTTP for agents with a key alone. */
const BY_KEY = [
  'agent_bind_key',
  'agent_revoke_key',
  'memory_agent_register',
  'memory_subscription_replay',
  'token_mint',
  'token_revoke',
];

describe('attestation required by name', () => {
  it('is asked for by every write that changes memories', () => {
    const writes = OPERATIONS.filter(({ effect }) => effect === 'write');
    const guardedBy = (guard: string | undefined) =>
      writes
        .filter(({ guards }) => guards.attestation === guard)
        .map(({ name }) => name)
        .sort();
    assert.deepEqual(guardedBy(undefined), UNGUARDED);
    assert.deepEqual(guardedBy('by-key'), BY_KEY);
  });

  it('refuses unsigned changes and deletions over HTTP', async () => {
    const node = await openHttpNode(
      { apiKey: 'k', adminAgentIds: ['ai:root'] },
      {
        wrap: (services) => ({
          ...services,
          settings: {
            ...services.settings,
            // The memory itself needs no signature here: only how it is changed is in question.
            requireAttestationEverywhere: true,
          },
        }),
      },
    );
    const headers = { 'x-api-key': 'k', 'x-agent-id': 'ai:root' };
    try {
      const stored = await node.send('POST', '/api/v1/memories', { title: 't', content: 'c' }, headers);
      assert.equal(stored.status, 201, stored.text);
      const id = String(stored.json?.['id']);
      const before = await node.counts();
      for (const [method, path, body] of [
        ['PUT', `/memories/${id}`, { content: 'rewritten' }],
        ['DELETE', `/memories/${id}`, undefined],
        ['POST', `/memories/${id}/promote`, {}],
        ['POST', '/archive', { ids: [id] }],
        ['POST', `/archive/${id}/restore`, {}],
        ['DELETE', '/archive', undefined],
        ['POST', '/forget', { pattern: 't' }],
        ['POST', '/gc', {}],
        ['POST', `/memories/${id}/undo`, {}],
        ['POST', '/contradictions/resolve', { winner: id, loser: id }],
        ['POST', '/consolidate', { ids: [id, id], title: 'both' }],
        ['POST', '/memory_atomise', { memory_id: id }],
        ['POST', '/memory_reflect', { source_ids: [id], title: 'what follows', content: 'c' }],
        ['POST', '/links', { source_id: id, target_id: id }],
        ['DELETE', '/links', { source_id: id, target_id: id }],
        ['POST', '/notify', { target_agent_id: 'ai:other', title: 't', payload: 'p' }],
        ['POST', '/inbox/read', { all: true }],
        ['POST', '/share', { source_memory_id: id, target_agent_id: 'ai:other' }],
        ['POST', '/kg/invalidate', { source_id: id, target_id: id, relation: 'advances' }],
      ] as const) {
        const answer = await node.send(method, `/api/v1${path}`, body, headers);
        assert.deepEqual(
          [answer.status, answer.json?.['code']],
          [403, 'ATTESTATION_FAILED'],
          `${method} ${path}`,
        );
      }
      assert.deepEqual(await node.counts(), before);
    } finally {
      await node.close();
    }
  });

  it('protects attested rows of a daemon whose operator sets SVC_REQUIRE_AGENT_ATTESTATION=1', async () => {
    const home = temporaryFolder('m9');
    const explicit = { SVC_REQUIRE_AGENT_ATTESTATION: '1' };
    const args = ['store', '-T', 'signed', '-c', 'by the machine', '--agent-id', 'ai:author', '--json'];
    const { code, out, err } = await run(home, args, { env: explicit });
    assert.equal(code, 0, err);
    const stored = JSON.parse(out) as { id: string; metadata: Record<string, unknown> };
    assert.equal(stored.metadata['attest_level'], 'agent_attested');
    const daemon = await startDaemonHere(home, await freePort(), explicit);
    try {
      const headers = { 'x-agent-id': 'ai:author', 'content-type': 'application/json' };
      const path = `${daemon.base}/memories/${stored.id}`;
      for (const [method, body] of [
        ['PUT', JSON.stringify({ content: 'rewritten' })],
        ['DELETE', null],
      ] as const) {
        const answer = await fetch(path, { method, headers, body });
        const { code: refused } = (await answer.json()) as { code: string };
        assert.deepEqual([answer.status, refused], [403, 'ATTESTATION_FAILED'], method);
      }
      const { memory } = (await (await fetch(path, { headers })).json()) as {
        memory: Record<string, unknown>;
      };
      assert.deepEqual([memory['content'], memory['version']], ['by the machine', 1]);
    } finally {
      await daemon.end('SIGTERM');
    }
  });
});
