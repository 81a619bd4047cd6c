import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { signedBytes, signWrite } from '../../../node/identity/sign-write.js';
import { systemCrypto } from '../../../node/seams.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../../protocol/agent.js';
import { SIGNED_WRITE_FRESHNESS_MS } from '../../../protocol/limits.js';
import type { Memory } from '../../../protocol/memory.js';
import type { PurgeReason } from '../../../protocol/operation-log.js';
import { instantFromMs } from '../../../protocol/time.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../memories.js';
import { type AgentKey, agentKey } from '../signing.js';
import type { OperationChange } from '../test-peer.js';
import { carry, type FormatNode, formatNode, formatPeer } from './format-node.js';
import { addNamespaceMeta } from './format-tables.js';

/** When the history begins: Wednesday, 25 February 2026. */
export const HISTORY_STARTS_MS = Date.UTC(2026, 1, 25, 9);

const HOUR_MS = 3_600_000;
const TTL_SECONDS = { short: 6 * 3600, mid: 7 * 86_400, long: null };
const LIFE_POLICY = {
  extendSeconds: { short: 3600, mid: 86_400, long: null },
  promoteAccessCount: 2,
} as const;

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** The id of a memory of the history. */
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Four nodes and a peer of a later release write one history; the database of the first is what is kept. */
export class FormatHistory {
  private readonly ash: FormatNode;
  private readonly birch: FormatNode;
  private cedar: FormatNode;
  private readonly dogwood: FormatNode;
  private nowMs = HISTORY_STARTS_MS;
  private ids = 0;

  constructor(private readonly folder: string) {
    const node = (name: 'ash' | 'birch' | 'cedar' | 'dogwood') =>
      formatNode(folder, `${name}.db`, name, this.nowMs);
    [this.ash, this.birch, this.cedar, this.dogwood] = [
      node('ash'),
      node('birch'),
      node('cedar'),
      node('dogwood'),
    ];
  }

  /** Writes everything; answers the path of the closed database and the time of its last write. */
  async write(): Promise<{ readonly path: string; readonly endsMs: number }> {
    const { ash } = this;
    await this.agents();
    await this.purges();
    await this.plainWrites();
    await this.archive();
    await this.putBack();
    await this.concurrent();
    await this.scoped();
    await this.ofALaterRelease();
    await this.reads();
    await this.local();
    for (const node of [ash, this.birch, this.cedar, this.dogwood]) await node.store.close();
    return { path: ash.path, endsMs: this.nowMs };
  }

  /** A node runs a command, a second after the last one. */
  private run(node: FormatNode, command: Parameters<FormatNode['run']>[0]): Promise<unknown> {
    this.tick(1000);
    return node.run(command);
  }

  private tick(ms: number): void {
    this.nowMs += ms;
    for (const node of [this.ash, this.birch, this.cedar, this.dogwood]) node.nowMs = this.nowMs;
  }

  /** Stores a memory with the next id; answers the id. */
  private async store(node: FormatNode, fields: Partial<Memory>): Promise<string> {
    this.ids += 1;
    const at = instantFromMs(this.nowMs + 1000);
    const named = { id: id(this.ids), created_at: at, updated_at: at, ...fields };
    await this.run(node, storing(named));
    return named.id;
  }

  private async exchange(...nodes: readonly FormatNode[]): Promise<void> {
    for (let round = 0; round < 2; round += 1)
      for (const from of nodes) for (const to of nodes) if (from !== to) await carry(from, to);
  }

  private async agents(): Promise<void> {
    for (const [index, agentId] of ['ai:author', 'human:alice'].entries()) {
      const at = instantFromMs(this.nowMs + 1000);
      const memory = aMemory({
        id: id(900 + index),
        namespace: AGENTS_NAMESPACE,
        title: agentTitle(agentId),
        content: `agent ${agentId}`,
        tier: 'long',
        created_at: at,
        updated_at: at,
        metadata: {
          agent_id: agentId,
          agent_type: index === 0 ? 'ai:generic' : 'human',
          capabilities: ['read', 'write'],
          registered_at: at,
          last_seen_at: at,
        },
      });
      await this.run(this.ash, {
        kind: 'register-agent',
        memory,
        spareId: id(910 + index),
        viewer: OPERATOR,
        admin: true,
      });
    }
    const publicKey = base64(agentKey('ai:author').signer.publicKey);
    await this.run(this.ash, {
      kind: 'bind-agent-key',
      agentId: 'ai:author',
      publicKey,
      by: 'human:alice',
    });
    await this.signed(agentKey('ai:author'), {
      title: 'Signed by its author',
      content: 'What the author wrote.',
    });
    await this.signed(agentKey('ai:author'), {
      title: 'Signed and edited',
      content: 'What the author wrote first.',
    });
    await this.run(this.ash, updating(id(this.ids), { content: 'Without a signature.' }));
  }

  /** Stores a memory that its author signed. */
  private async signed(key: AgentKey, { title, content }: Pick<Memory, 'title' | 'content'>): Promise<void> {
    this.ids += 1;
    const at = instantFromMs(this.nowMs + 1000);
    const publicKey = base64(key.signer.publicKey);
    const fields = { agentId: key.agentId, namespace: 'team/signed', title, kind: 'claim', content };
    const { signature, created_at } = signWrite(key.signer, fields, at, systemCrypto);
    const memory: Partial<Memory> = {
      id: id(this.ids),
      namespace: fields.namespace,
      title,
      content,
      kind: 'claim',
      created_at: at,
      updated_at: at,
      metadata: { agent_id: key.agentId, attest_level: 'agent_attested' },
      write_signature: { signature, created_at, public_key: publicKey },
    };
    const envelope = {
      agentId: key.agentId,
      fingerprint: systemCrypto.sha256Hex(signedBytes(fields, at, systemCrypto)),
      publicKey,
      expiresAtMs: this.nowMs + SIGNED_WRITE_FRESHNESS_MS,
    };
    await this.run(this.ash, storing(memory, { envelope }));
  }

  private async purges(): Promise<void> {
    const { ash } = this;
    const purged = await this.store(ash, { title: 'Archived and purged' });
    await this.run(ash, { kind: 'archive-memories', ids: [purged], reason: 'superseded', viewer: OPERATOR });
    await this.purge(ash, 'request');
  }

  /** Purges everything in a node's archive. */
  private async purge(node: FormatNode, reason: PurgeReason): Promise<void> {
    const before = instantFromMs(this.nowMs);
    const ownerId = null;
    await this.run(node, { kind: 'purge-archive', before, ownerId, reason, limit: 100, by: 'human:alice' });
  }

  private async plainWrites(): Promise<void> {
    const { ash, birch } = this;
    const full = await this.store(ash, {
      namespace: 'team/docs',
      title: 'Every field',
      content: 'Zażółć gęślą jaźń — 漢字 🦊\nsecond line',
      tier: 'long',
      tags: ['one', 'zwei', '三'],
      priority: 9,
      confidence: 0.25,
      kind: 'decision',
      metadata: {
        agent_id: 'human:alice',
        attest_level: 'claimed',
        scope: 'team',
        deep: { list: [1, 2.5, null, true] },
      },
      citations: [
        {
          uri: 'https://example.test/a',
          accessed_at: '2026-02-01T00:00:00.000Z',
          span: { start: 1, end: 4 },
        },
      ],
      source_uri: 'doc:handbook',
      source_span: { start: 0, end: 120 },
      entity_id: 'entity-1',
      mentioned_entity_id: 'entity-2',
      persona_version: 3,
      reflection_depth: 2,
      confidence_signals: { recalls: 4 },
    });
    await this.run(ash, updating(full, { content: 'Edited — 漢字 🦊', tags: ['one'], expires_at: null }));
    const promoted = await this.store(ash, {
      title: 'Promoted',
      tier: 'short',
      expires_at: instantFromMs(this.nowMs + 6 * HOUR_MS),
    });
    await this.run(ash, { kind: 'promote-memory', id: promoted, targetTier: 'long', viewer: OPERATOR });
    const vertical = { toNamespace: 'team', cloneId: id(800) };
    await this.run(ash, { kind: 'promote-memory', id: full, targetTier: 'long', vertical, viewer: OPERATOR });
    const gone = await this.store(ash, { title: 'Deleted with a copy', content: 'kept in the archive' });
    await this.run(ash, deleting(gone));
    const lost = await this.store(ash, { title: 'Deleted without a copy' });
    await this.run(ash, { ...deleting(lost), archive: false });
    const undone = await this.store(ash, { title: 'Edited and undone', content: 'first', tier: 'long' });
    await this.run(ash, updating(undone, { content: 'second' }));
    await this.run(ash, { kind: 'undo-edit', id: undone, dryRun: false, viewer: OPERATOR, archive: true });
    const sources = [
      await this.store(birch, { title: 'Source one', content: 'One half.', namespace: 'notes' }),
      await this.store(birch, { title: 'Source two', content: 'The other half.', namespace: 'notes' }),
    ];
    const result = {
      id: id(801),
      title: 'Both halves',
      namespace: 'notes',
      tier: 'long',
      expiresAt: null,
    } as const;
    await this.run(birch, {
      kind: 'consolidate-memories',
      ids: sources,
      result,
      summary: null,
      onConflict: 'error',
      agentId: 'ai:writer',
      viewer: OPERATOR,
      archive: true,
    });
    const [winner, loser] = [
      await this.store(ash, { title: 'The sky is blue', tier: 'long' }),
      await this.store(ash, { title: 'The sky is green', tier: 'long' }),
    ];
    await this.run(ash, { kind: 'resolve-memories', winnerId: winner, loserId: loser, viewer: OPERATOR });
    await this.run(ash, linking(full, winner));
    const { link } = linking(winner, full);
    const signature = base64(formatPeer('ash').signer.sign(Buffer.from('a link')));
    const at = '2026-02-20T00:00:00.000Z';
    await this.run(ash, {
      kind: 'import-link',
      link: {
        ...link,
        relation: 'depends_on',
        valid_from: at,
        valid_until: '2027-02-20T00:00:00.000Z',
        observed_by: 'ai:author',
        signature,
        attest_level: 'self_signed',
        signed_at: at,
      },
    });
    await this.exchange(ash, birch, this.cedar);
  }

  private async archive(): Promise<void> {
    const { ash, birch } = this;
    const [kept, back, old] = [
      await this.store(ash, { title: 'Archived', content: 'lies in the archive', tags: ['x'], tier: 'long' }),
      await this.store(ash, { title: 'Archived and restored', tier: 'long' }),
      await this.store(birch, { title: 'Purged elsewhere for its age' }),
    ];
    await this.run(ash, { kind: 'archive-memories', ids: [kept, back], reason: 'archive', viewer: OPERATOR });
    await this.run(ash, {
      kind: 'restore-memory',
      id: back,
      ttlSeconds: TTL_SECONDS,
      viewer: OPERATOR,
      archive: true,
    });
    await this.run(birch, { kind: 'archive-memories', ids: [old], reason: 'archive', viewer: OPERATOR });
    await this.exchange(ash, birch, this.cedar);
    await this.purge(birch, 'retention');
    const soon = instantFromMs(this.nowMs + HOUR_MS);
    await this.store(ash, { title: 'Expired with a copy', tier: 'short', expires_at: soon });
    await this.store(birch, { title: 'Expired while others read', tier: 'short', expires_at: soon });
    this.tick(2 * HOUR_MS);
    await this.run(ash, { kind: 'expire-memories', limit: 100, archive: true });
    await this.run(birch, { kind: 'expire-memories', limit: 100, archive: false });
    await this.exchange(ash, birch, this.cedar);
  }

  /** A node's database is put back, and it gives numbers twice; the kept database hears of both histories. */
  private async putBack(): Promise<void> {
    const { ash, birch } = this;
    const shared = await this.store(this.cedar, { title: 'Shared before it was put back', tier: 'long' });
    await this.exchange(ash, birch, this.cedar);
    const copy = join(this.folder, 'cedar-again.db');
    this.cedar.db.pragma('wal_checkpoint(TRUNCATE)');
    copyFileSync(this.cedar.path, copy);
    await this.store(this.cedar, { title: 'Written and lost with the disk', tier: 'long' });
    await this.run(this.cedar, updating(shared, { content: 'edited and lost with the disk' }));
    await carry(this.cedar, birch);
    await this.cedar.store.close();
    this.cedar = formatNode(this.folder, 'cedar-again.db', 'cedar', this.nowMs);
    const fresh = await this.store(this.cedar, { title: 'Written after it was put back', tier: 'long' });
    await this.run(this.cedar, deleting(shared));
    await carry(this.cedar, ash);
    await this.run(ash, updating(fresh, { content: 'edited elsewhere' }));
    const own = await this.cedar.store.query({ kind: 'known-origins' });
    if (!own.ok) throw new Error(own.error.message);
    const keep = own.value.heads[own.value.self]!.seq - 2;
    await this.run(this.cedar, { kind: 'begin-epoch', epoch: '0000000063656402', reason: 'put back', keep });
    await this.exchange(ash, birch, this.cedar);
    await this.exchange(ash, birch, this.cedar);
  }

  private async concurrent(): Promise<void> {
    const { ash, birch, cedar } = this;
    const ids: string[] = [];
    for (const title of ['Edited on both sides', 'Edited and deleted', 'Moved and edited'])
      ids.push(await this.store(ash, { title, tier: 'long', namespace: 'notes' }));
    await this.exchange(ash, birch, cedar);
    for (const each of ids)
      await this.run(birch, updating(each, { content: 'as birch has it', tags: ['birch'] }));
    await this.run(ash, updating(ids[0]!, { content: 'as ash has it', tags: ['ash'] }));
    await this.run(cedar, updating(ids[0]!, { priority: 8 }));
    await this.run(ash, deleting(ids[1]!));
    await this.run(ash, updating(ids[2]!, { namespace: 'notes/deep' }));
    await this.store(ash, { title: 'One title', content: 'of ash', tier: 'long' });
    await this.store(birch, { title: 'One title', content: 'of birch', tier: 'long' });
    await this.store(cedar, { title: 'One title', content: 'of cedar', tier: 'long' });
    await this.exchange(ash, birch, cedar);
  }

  /** What a node with a narrow scope writes inside of it, and outside. */
  private async scoped(): Promise<void> {
    const { ash, birch, dogwood } = this;
    await this.store(dogwood, { title: 'Inside its scope', namespace: 'team/wood', tier: 'long' });
    await this.store(dogwood, { title: 'Outside its scope', namespace: 'private', tier: 'long' });
    await this.store(dogwood, { title: 'Inside again', namespace: 'team/wood', tier: 'long' });
    await carry(dogwood, ash);
    await carry(ash, birch);
  }

  /** Operations that are kept and not understood, whatever later releases know, or not believed. */
  private async ofALaterRelease(): Promise<void> {
    const elm = formatPeer('elm');
    const write = (fields: Partial<Memory>, change: OperationChange = {}) => {
      this.tick(1000);
      this.ids += 1;
      const hlc = `${this.nowMs}-00000`;
      return elm.operation({ id: id(this.ids), tier: 'long', ...fields }, { hlc, ...change });
    };
    const report = JSON.stringify({ id: 'weather-1', namespace: 'team', text: 'of a later release' });
    const operations = [
      write({ title: 'Of a later release' }),
      write({}, { kind: 'weather.put' as never, namespace: 'team', subject: 'weather-1', payload: report }),
      write({
        title: 'Not signed by whom it names',
        metadata: { agent_id: 'ai:author', attest_level: 'agent_attested' },
      }),
      write({ title: 'No memory' }, { payload: '{"id":"nothing"}' }),
      write({ title: 'After what was not understood', namespace: 'team/wood' }),
    ];
    await this.ash.take({ operations, heads: [elm.head()], more: false });
    await this.run(this.ash, updating(operations[0]!.subject, { content: 'edited here' }));
  }

  private async reads(): Promise<void> {
    const { ash } = this;
    const read = await this.store(ash, {
      title: 'Read often',
      tier: 'short',
      expires_at: instantFromMs(this.nowMs + HOUR_MS),
    });
    const promoted = await this.store(ash, {
      title: 'Read until it stayed',
      tier: 'mid',
      expires_at: instantFromMs(this.nowMs + HOUR_MS),
    });
    const touched = (each: string, count: number) => ({
      id: each,
      count,
      lastAt: instantFromMs(this.nowMs + 1000),
    });
    await this.run(ash, {
      kind: 'touch-memories',
      touches: [touched(read, 1), touched(promoted, 3)],
      policy: LIFE_POLICY,
      observations: [
        {
          recallId: 'recall-1',
          agentId: 'ai:author',
          retriever: 'keyword',
          observedAt: instantFromMs(this.nowMs + 1000),
          memoryIds: [read, promoted],
          scores: [0.75, 0.5],
        },
      ],
      consumptions: [
        {
          recallId: 'recall-1',
          agentId: 'ai:author',
          memoryId: promoted,
          consumedAt: instantFromMs(this.nowMs + 1000),
        },
      ],
    });
  }

  /** Rows that never leave a database. */
  private async local(): Promise<void> {
    const { ash } = this;
    addNamespaceMeta(ash.db, id(1), instantFromMs(this.nowMs));
    await this.run(ash, { kind: 'ensure-quota', holder: 'ai:author', namespace: 'team/signed' });
    const fingerprint = systemCrypto.sha256Hex('a nonce');
    const nonce = {
      peerId: formatPeer('birch').peerId,
      fingerprint,
      usedAtMs: this.nowMs,
      keepUntilMs: this.nowMs + HOUR_MS,
    };
    await this.run(ash, { kind: 'use-nonce', nonce });
    const { self } = await this.origins(ash);
    const progress = {
      peerId: formatPeer('birch').peerId,
      origin: self,
      acked: 4,
      owedTo: 9,
      attempts: 1,
      quarantined: false,
      cause: 'unreachable',
      firstFailedAtMs: this.nowMs,
      lastFailedAtMs: this.nowMs,
      nextTryAtMs: this.nowMs + 1000,
      version: '0.1.0',
    };
    await this.run(ash, { kind: 'save-peer-progress', progress: [progress], parked: [], settled: [] });
  }

  private async origins(node: FormatNode) {
    const known = await node.store.query({ kind: 'known-origins' });
    if (!known.ok) throw new Error(known.error.message);
    return known.value;
  }
}
