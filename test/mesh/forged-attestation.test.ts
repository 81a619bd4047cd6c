import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createHttpSurface } from '../../node/http/server.js';
import type { Caller } from '../../node/identity/caller.js';
import { signWrite } from '../../node/identity/sign-write.js';
import { Metrics } from '../../node/observability/metrics.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { systemCrypto } from '../../node/seams.js';
import type { Signer } from '../../protocol/base/seams.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { sourceFiles } from '../architecture/source-files.js';
import { bindKey, setKey } from '../support/agents.js';
import { aMemory, OPERATOR } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { agentKey } from '../support/signing.js';
import { openTestNode } from '../support/test-node.js';
import { TestPeer } from '../support/test-peer.js';

const SIGNED_AT = '2026-01-01T00:00:00.000Z';
const A = agentKey('A');
const B = agentKey('B');
const OTHER = agentKey('A', Buffer.alloc(32, 7));

let peer: TestPeer;
let node: ReceiverNode;
beforeEach(async () => {
  peer = new TestPeer('scoped');
  node = await openReceiverNode({ peers: [peer.asPeer({ allowedNamespaces: ['team/**'] })] });
});
afterEach(() => node.close());

/** A memory of A that says to be attested, signed by a key, through a node or by the agent itself. */
function attested(signer: Signer, by: string | null = null, fields: Partial<Memory> = {}): Memory {
  const memory = aMemory({
    namespace: 'team/x',
    title: 'A approves the transfer',
    content: 'pay 100 EUR',
    metadata: {
      ...{ agent_id: 'A', attest_level: 'agent_attested', topic: 'pay', family: 'core' },
      ...(by === null ? {} : { attested_by: by }),
    },
    ...fields,
  });
  const { namespace, title, kind, content } = memory;
  const signed = { agentId: String(memory.metadata['agent_id']), namespace, title, kind, content };
  return {
    ...memory,
    write_signature: {
      ...signWrite(signer, signed, SIGNED_AT, systemCrypto),
      public_key: Buffer.from(signer.publicKey).toString('base64'),
    },
  };
}

async function receive(memory: Memory): Promise<string> {
  const answer = await node.send(peer.push(peer.pushOf(peer.operation(memory))));
  assert.deepEqual([answer.status, answer.json['applied']], [200, 1], JSON.stringify(answer.json));
  return memory.id;
}

const CALLER: Caller = { agentId: 'B', claimed: 'explicit', viewer: OPERATOR, admin: true, local: true };

async function ask(
  name: string,
  input: Record<string, unknown>,
  surface: 'http' | 'mcp' | 'cli' = 'cli',
  services = node.services,
) {
  const operation = OPERATIONS.find((each) => each.name === name)!;
  const request = { surface, caller: CALLER, input, unknownFields: 'refuse' } as const;
  const answer = await runOperation(operation, request, services);
  assert.ok(answer.ok, `${name}: ${answer.ok || answer.error.message}`);
  return answer.value;
}

interface Shown {
  readonly metadata: Record<string, unknown>;
  readonly content_attestation?: string;
}

async function levelOf(id: string, services = node.services): Promise<unknown> {
  const { memory } = (await ask('memory_get', { id }, 'cli', services)) as { memory: Shown };
  return memory.metadata['attest_level'];
}

describe('a memory in the name of an agent with a bound key, signed with another', () => {
  let id: string;
  beforeEach(async () => {
    await bindKey(node.services.store, A);
    id = await receive(attested(OTHER.signer));
  });

  it('is claimed in every answer, on every surface', async () => {
    const views: readonly (readonly [string, Record<string, unknown>])[] = [
      ['memory_get', { id }],
      ['memory_list', {}],
      ['memory_search', { query: 'transfer' }],
      ['memory_recall', { context: 'transfer', verbose_provenance: true }],
      ['memory_contradictions', { topic: 'pay' }],
      ['memory_load_family', { family: 'core' }],
      ['memory_update', { id, priority: 7 }],
      ['memory_undo_edit', { id }],
    ];
    for (const [name, input] of views) {
      const operation = OPERATIONS.find((each) => each.name === name)!;
      for (const surface of ['http', 'mcp', 'cli'] as const) {
        if (operation[surface] === undefined) continue;
        const text = JSON.stringify(await ask(name, input, surface));
        assert.match(text, /"attest_level":"claimed"/, `${name} ${surface}`);
        assert.doesNotMatch(text, /agent_attested|attested_by/, `${name} ${surface}`);
      }
    }
    const { memories } = await ask('memory_recall', { context: 'transfer', verbose_provenance: true });
    assert.deepEqual(
      (memories as Shown[]).map((shown) => shown.content_attestation),
      ['claimed'],
    );
  });

  it('is claimed over a socket and in the archive', async () => {
    const { services } = node;
    const surface = createHttpSurface({ operations: OPERATIONS, services, metrics: new Metrics() });
    const { port } = await surface.listen('127.0.0.1', 0);
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/recall?q=transfer&verbose_provenance=true`);
      assert.match(await answer.text(), /"content_attestation":"claimed"/);
    } finally {
      await surface.close();
    }
    await services.store.execute({ kind: 'archive-memories', ids: [id], reason: 'test', viewer: OPERATOR });
    const [row] = (await ask('memory_archive_list', {}))['archived'] as Shown[];
    assert.deepEqual(row!.metadata['attest_level'], 'claimed');
  });

  it('stays in its row and in exports what it is on all nodes', async () => {
    assert.equal((await node.memory(id))!.metadata['attest_level'], 'agent_attested');
    const { memories } = await ask('memory_export', {}, 'http');
    assert.equal((memories as Shown[])[0]!.metadata['attest_level'], 'agent_attested');
  });

  it('is claimed where a member signed it', async () => {
    peer.enrol(node.services.settings.keyDir);
    const signed = attested(peer.signer, peer.peerId, { title: 'signed by a member' });
    assert.equal(await levelOf(await receive(signed)), 'claimed');
  });
});

describe('a memory of an agent without a bound key', () => {
  const through = (signer: Signer, peerId: string, title: string) => attested(signer, peerId, { title });

  it('is attested by a member, by this node, and by nobody else', async () => {
    peer.enrol(node.services.settings.keyDir);
    const { machineKey, peerId } = node.services;
    const stranger = new TestPeer('a stranger');
    const ids = [
      await receive(through(peer.signer, peer.peerId, 'by a member')),
      await receive(through(machineKey!, peerId, 'by this node')),
      await receive(through(stranger.signer, stranger.peerId, 'by a stranger')),
      await receive(attested(A.signer, null, { title: 'by a key that is not bound' })),
    ];
    const levels = await Promise.all(ids.map((id) => levelOf(id)));
    assert.deepEqual(levels, ['agent_attested', 'agent_attested', 'claimed', 'claimed']);
  });

  it('is claimed where the owner is none, or the signature is missing', async () => {
    await bindKey(node.services.store, A);
    const { store } = node.services;
    for (const memory of [
      { ...attested(A.signer, null, { title: 'unsigned' }), write_signature: null },
      { ...attested(A.signer, null, { title: 'no owner' }), metadata: { attest_level: 'agent_attested' } },
    ]) {
      assert.ok((await store.execute({ kind: 'import-memory', memory, archive: true })).ok);
      assert.equal(await levelOf(memory.id), 'claimed');
    }
  });
});

describe('a memory that its agent signed', () => {
  it('is attested, also after the key was replaced and revoked, and not by a key that never was bound', async () => {
    const { store } = node.services;
    await bindKey(store, A);
    const id = await receive(attested(A.signer));
    const forged = await receive(attested(OTHER.signer, null, { title: 'forged' }));
    const of = async (key: string | null) => {
      if (key !== A.publicKeyText) await setKey(store, 'A', key);
      return [await levelOf(id), await levelOf(forged)];
    };
    assert.deepEqual(await of(A.publicKeyText), ['agent_attested', 'claimed']);
    assert.deepEqual(await of(B.publicKeyText), ['agent_attested', 'claimed']);
    assert.deepEqual(await of(null), ['agent_attested', 'claimed']);
    assert.deepEqual(await of(OTHER.publicKeyText), ['agent_attested', 'agent_attested']);
  });

  it('is judged by the keys of the moment, also when another process changes them', async () => {
    const home = mkdtempSync(join(tmpdir(), 'mnemesh-m2-'));
    const dbPath = join(home, 'db', 'one.db');
    mkdirSync(dirname(dbPath));
    const [one, other] = [await openTestNode({ home, dbPath }), await openTestNode({ home, dbPath })];
    try {
      const memory = attested(A.signer);
      assert.ok((await one.services.store.execute({ kind: 'import-memory', memory, archive: true })).ok);
      assert.equal(await levelOf(memory.id, one.services), 'claimed');
      await bindKey(other.services.store, A);
      assert.equal(await levelOf(memory.id, one.services), 'agent_attested');
    } finally {
      await one.close();
      await other.close();
      rmSync(home, { recursive: true, force: true });
    }
  });
});

describe('the rendering of memories', () => {
  it('is in one place for every answer', () => {
    const own = /(?:shown-memories|memory-recall)\.ts$/;
    const renders = ['node', 'cli']
      .flatMap((floor) => sourceFiles(floor))
      .filter(({ path, text }) => /operations|mcp|cli/.test(path) && text.includes('memoryJson'))
      .map(({ path }) => path)
      .filter((path) => !own.test(path));
    assert.deepEqual(renders, []);
  });
});
