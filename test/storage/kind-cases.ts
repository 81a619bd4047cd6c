import assert from 'node:assert/strict';
import { systemCrypto } from '../../node/seams.js';
import { actionKind } from '../../protocol/coordination/action-kind.js';
import { checkpointKind } from '../../protocol/coordination/checkpoint-kind.js';
import { edgeKind } from '../../protocol/coordination/edge-kind.js';
import { leaseKind } from '../../protocol/coordination/lease-kind.js';
import { NEVER } from '../../protocol/coordination/members.js';
import { routineKind, routineRunKind } from '../../protocol/coordination/routine-kind.js';
import { signalKind } from '../../protocol/coordination/signal-kind.js';
import { signalReceiptKind } from '../../protocol/coordination/signal-receipt-kind.js';
import { adoptionKind } from '../../protocol/decide/adoption-kind.js';
import type { Mutation } from '../../protocol/decide/mutations.js';
import type { Row } from '../../protocol/decide/rows.js';
import { tokenRevocationKind } from '../../protocol/delegation/token-revocation-kind.js';
import { tokenRootKind } from '../../protocol/delegation/token-root-kind.js';
import { erasureDoneKind } from '../../protocol/erasure/erasure-done-kind.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import type { Facts } from '../../protocol/kinds/version.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import { aliasKind } from '../../protocol/memory/alias-kind.js';
import { memoryKind } from '../../protocol/memory/memory-kind.js';
import { standardKind } from '../../protocol/memory/standard-kind.js';
import { receiptKind } from '../../protocol/messages/receipt-kind.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import { rememberedKind } from '../../protocol/policies/remembered-kind.js';
import { voteKind } from '../../protocol/policies/vote-kind.js';
import type { Query } from '../../protocol/release.js';
import { type RepairOutcome, repairOf } from '../../protocol/replication/repair-subjects.js';
import { type Rule, ruleKind } from '../../protocol/rules/rule-kind.js';
import { skillContentKind, skillResourceKind } from '../../protocol/skills/content-kinds.js';
import { skillKind } from '../../protocol/skills/skill-kind.js';
import { blobKind } from '../../protocol/transcripts/blob-kind.js';
import { offloadKind } from '../../protocol/transcripts/offload-kind.js';
import { transcriptKind } from '../../protocol/transcripts/transcript-kind.js';
import { engineOf } from '../../storage/sql/engine.js';
import { rowFromSql } from '../../storage/sql/kinds/plain-table.js';
import { type RecordSqlRow, recordImageOf } from '../../storage/sql/kinds/record-table.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../support/memories.js';
import type { Replica } from '../support/replicas.js';
import { aRule } from '../support/rules.js';
import { aSticker, lampKind, stickerKind } from '../support/throwaway-kinds.js';

export const START_MS = 1_772_000_000_000;
const LOST = 'peer-00000000000000bb';

/** Applies a mutation as the writer does; no command of this release writes a throwaway kind. */
export function apply(one: Replica, mutation: Mutation): void {
  one.db.exec('BEGIN IMMEDIATE');
  const { log, mutations, quotas, digests, context } = engineOf(
    one.db,
    { nowMs: one.nowMs, crypto: systemCrypto },
    one.kinds,
  );
  log.begin();
  mutations.apply(mutation, context);
  quotas.flush();
  digests.flush();
  log.finish();
  one.db.exec('COMMIT');
}

export function rowOf(one: Replica, kind: Kind, id: string): Row | null {
  const sql = one.db.prepare('SELECT * FROM records WHERE kind = ? AND id = ?').get(kind.name, id);
  const image = sql === undefined ? null : recordImageOf(kind, sql as RecordSqlRow);
  return image === null ? null : rowFromSql(id, sql as RecordSqlRow, image);
}

function buriedSeen(one: Replica, kind: Kind, id: string): Row['stamp']['seen'] {
  const sql = 'SELECT seen FROM tombstones WHERE kind = ? AND id = ?';
  const seen = one.db.prepare(sql).pluck().get(kind.name, id) as string | undefined;
  return seen === undefined ? {} : (JSON.parse(seen) as Row['stamp']['seen']);
}

/** A subject of a kind, and what is done to it. */
export interface Case {
  readonly kind: Kind;
  readonly id: string;
  readonly namespace: string;
  readonly table: 'memories' | 'memory_links' | 'records';
  /** What the subject needs around it. */
  prepare(one: Replica): Promise<void>;
  /** Writes the subject, in one of several versions. */
  put(one: Replica, version: number): Promise<void>;
  drop(one: Replica): Promise<void>;
  /** Columns that say something, each with another value. */
  readonly damages: Readonly<Record<string, string>>;
}

const nothing = () => Promise.resolve();
const STAMPS = {
  hlc: "'9' || substr(hlc, 2)",
  origin_seq: 'origin_seq - 1',
  seen: `'{"peer-a/epocha":99}'`,
  digest: 'zeroblob(32)',
  namespace: "'nowhere'",
};
const RECORD_DAMAGES = { ...STAMPS, payload: "replace(payload, ':', ' :')" };

export function recordCase<I extends object>(
  kind: Kind<I>,
  { id, namespace }: Pick<Case, 'id' | 'namespace'>,
  imageOf: (version: number) => I,
): Case {
  const put = async (one: Replica, version: number) => {
    const before = rowOf(one, kind as never, id);
    const seen = before?.stamp.seen ?? buriedSeen(one, kind as never, id);
    const image = imageOf(version);
    const word = `${kind.name}.put`;
    apply(one, {
      ...{ mutation: 'write', kind: kind.name, word, id, namespace, seen, image },
      before: before?.image ?? null,
    });
  };
  const drop = async (one: Replica) => {
    const { image: before, stamp } = rowOf(one, kind as never, id)!;
    const facts: Facts = kind.removal.parse({})!;
    const word = `${kind.name}.drop`;
    apply(one, {
      ...{ mutation: 'remove', kind: kind.name, word, id, namespace, seen: stamp.seen, before },
      ...{ reason: 'test', facts, keepCopy: false },
    });
  };
  const common = { kind: kind as never, id, namespace, table: 'records', prepare: nothing } as const;
  return { ...common, put, drop, damages: RECORD_DAMAGES };
}

const DIGEST = 'ab'.repeat(32);
const INSTANT = '2026-01-01T00:00:00.000Z';

const MEMORY = aMemory({ id: 'm1', title: 'one', namespace: 'team' });
const ENDS = ['left', 'right'].map((id) => aMemory({ id, title: id, namespace: 'team' }));

/** A case of each kind; those whose home decides have this one. */
export const casesAt = (home: string): readonly Case[] => [
  {
    ...{ kind: memoryKind as never, id: MEMORY.id, namespace: 'team', table: 'memories', prepare: nothing },
    async put(one, version) {
      const content = `content ${version}`;
      const held = one.db.prepare('SELECT 1 FROM memories WHERE id = ?').get(MEMORY.id);
      const importing = { kind: 'import-memory', memory: { ...MEMORY, content }, archive: true } as const;
      await one.run(held === undefined ? importing : updating(MEMORY.id, { content }));
    },
    drop: async (one) => void (await one.run(deleting(MEMORY.id))),
    damages: { ...STAMPS, content: "'damaged'", rest: `'{"a":1}'`, created_hlc: "'0'" },
  },
  {
    ...{ kind: linkKind as never, id: 'left|right|related_to', namespace: 'team', table: 'memory_links' },
    async prepare(one) {
      for (const memory of ENDS) await one.run(storing(memory));
    },
    async put(one, version) {
      const { link } = linking('left', 'right');
      const created_at = `2026-01-0${version}T00:00:00.000Z`;
      await one.run({ kind: 'import-link', link: { ...link, created_at, rest: { zeta: version } } });
    },
    async drop(one) {
      const pair = { sourceId: 'left', targetId: 'right' };
      await one.run({ kind: 'drop-links', ...pair, relation: 'related_to', viewer: OPERATOR });
    },
    damages: { ...STAMPS, attest_level: "'signed'", rest: `'{"a":1}'`, signature: "'of another type'" },
  },
  {
    ...recordCase(standardKind, { id: 'team', namespace: 'team' }, () => assert.fail('has a command')),
    async put(one, version) {
      const asked = { namespace: 'team', standardId: null, parent: `parent/${version}` };
      await one.run({ kind: 'set-standard', ...asked, viewer: OPERATOR });
    },
    drop: async (one) => void (await one.run({ kind: 'clear-standard', namespace: 'team' })),
  },
  recordCase(adoptionKind, { id: `${home}/${LOST}/1`, namespace: '_mesh' }, (version) => ({
    ...{ peer_id: LOST, home, number: 1, adopted_by: `by ${version}` },
    ...{ adopted_at: '2026-01-01T00:00:00.000Z', rest: {} },
  })),
  recordCase(aliasKind, { id: 'm1|a name', namespace: 'team' }, (version) => ({
    ...{ memory_id: 'm1', namespace: 'team', alias: 'A Name', folded: 'a name', digest: null },
    ...{ added_by: `by ${version}`, added_at: '2026-01-01T00:00:00.000Z', rest: {} },
  })),
  recordCase(pendingKind, { id: `${home}/p1`, namespace: 'team' }, (version) => ({
    ...{
      pending_id: 'p1',
      action_type: 'store',
      namespace: 'team',
      memory_id: null,
      status: 'pending' as const,
    },
    ...{ command: { kind: 'store-memory', version }, approver: { form: 'human' }, requested_by: 'ai:a' },
    ...{ requested_at: INSTANT, expires_at: INSTANT, approvals: [], decided_by: null, decided_at: null },
    ...{ remember: null, written_as: null, reads: [], becomes: [], asked: [], rest: {} },
  })),
  recordCase(voteKind, { id: 'p1|ai:b', namespace: 'team' }, (version) => ({
    ...{ pending_id: 'p1', namespace: 'team', agent_id: 'ai:B', voter: 'ai:b', remember: 'once' as const },
    ...{
      decision: version % 2 === 0 ? ('approve' as const) : ('deny' as const),
      voted_at: INSTANT,
      rest: { zeta: version },
    },
  })),
  recordCase(rememberedKind, { id: 'store|ai:a|team', namespace: 'team' }, (version) => ({
    ...{ namespace: 'team', action_type: 'store', agent_id: 'ai:a', decision: 'approve', lasts: 'forever' },
    ...{ session: '', decided_by: `by ${version}`, decided_at: INSTANT, gate: '', approver: {}, rest: {} },
  })),
  {
    ...recordCase(ruleKind, { id: 'R1', namespace: '_mesh' }, () => assert.fail('has a command')),
    async put(one, version) {
      const before = rowOf(one, ruleKind as never, 'R1')?.image as Rule | undefined;
      const rule = aRule('R1', {
        reason: `version ${version}`,
        updated_at: `2026-01-0${version}T00:00:00.000Z`,
      });
      await one.run({ kind: 'put-rule', rule, replaces: before?.updated_at ?? null, by: 'ai:operator' });
    },
    async drop(one) {
      await one.run({ kind: 'remove-rule', id: 'R1', signature: null, by: 'ai:operator' });
    },
  },
  recordCase(receiptKind, { id: 'm1', namespace: '_messages/ai:b' }, (version) => ({
    ...{ memory_id: 'm1', reader: 'ai:b', read_at: INSTANT, rest: {} },
    updated_at: `2026-01-0${version}T00:00:00.000Z`,
  })),
  recordCase(actionKind, { id: `${home}/t1`, namespace: 'team' }, (version) => ({
    ...{ action_id: 't1', namespace: 'team', action_kind: 'build', title: `title ${version}` },
    ...{ payload: `{"version":${version}}`, priority: version, state: 'pending' as const, agent_id: null },
    ...{ created_by: 'ai:a', claimed_by: null, metadata: {}, created_at: INSTANT, updated_at: INSTANT },
    ...{ last: null, rest: { zeta: version } },
  })),
  recordCase(edgeKind, { id: 't1|t2|requires', namespace: 'team' }, (version) => ({
    ...{ from_action: 't1', to_action: 't2', edge_type: 'requires' as const, namespace: 'team' },
    ...{ created_by: `ai:${version}`, created_at: INSTANT, rest: { zeta: version } },
  })),
  recordCase(leaseKind, { id: `${home}/t1`, namespace: 'team' }, (version) => ({
    ...{ action_id: 't1', namespace: 'team', holder: 'ai:a', token: version, ttl_secs: 60 },
    ...{ acquired_at: INSTANT, rest: { zeta: version } },
  })),
  recordCase(signalKind, { id: `${home}/s1`, namespace: 'team' }, (version) => ({
    ...{ signal_id: 's1', maker: home, namespace: 'team', from_agent: 'ai:a', to_agent: 'ai:b' },
    ...{ subject: `subject ${version}`, body: '{"a":1}', signal_type: 'notify', in_reply_to: null },
    ...{ correlation_id: 'c1', reference_ids: ['m1'], created_at: INSTANT, expires_at: NEVER },
    ...{ signature: null, public_key: null, rest: {} },
  })),
  recordCase(signalReceiptKind, { id: 's1|ai:b', namespace: 'team' }, (version) => ({
    ...{ signal_id: 's1', maker: home, namespace: 'team', reader: 'ai:b', from_agent: 'ai:a' },
    ...{ read_at: `2026-01-0${version}T00:00:00.000Z`, acknowledged_at: null, expires_at: NEVER, rest: {} },
  })),
  recordCase(blobKind, { id: `team|${DIGEST}`, namespace: 'team' }, (version) => ({
    ...{ namespace: 'team', sha256: DIGEST, data: 'qrpg', size: version },
    ...{ agent_id: 'ai:a', rest: {} },
  })),
  recordCase(transcriptKind, { id: 'ai:a|1|s1', namespace: 'team' }, (version) => ({
    ...{ namespace: 'team', agent_id: 'ai:a', host_session_id: 's1', host_turn_index: 1 },
    ...{ role: 'user' as const, layer: 'L4' as const, attest_level: 'self_signed' as const },
    ...{ host_kind: 'a host', host_version: `${version}`, content_sha256: DIGEST },
    ...{ blob_id: `team|${DIGEST}`, original_size: 3, compressed_size: 5, memory_id: 'm1', tool_calls: [] },
    ...{ host_signature: null, host_pubkey: null, captured_by: home },
    ...{ created_at: INSTANT, expires_at: INSTANT, archived_at: null, rest: {} },
  })),
  recordCase(erasureDoneKind, { id: `${home}/m1`, namespace: 'team' }, (version) => ({
    ...{ memory_id: 'm1', peer_id: home, namespace: 'team', rest: {} },
    done_at: `2026-01-0${version}T00:00:00.000Z`,
  })),
  recordCase(offloadKind, { id: 'ofl_A|ai:a', namespace: 'team' }, (version) => ({
    ...{ ref_id: 'ofl_A', namespace: 'team', agent_id: 'ai:a', content_sha256: DIGEST },
    ...{ blob_id: `team|${DIGEST}`, size: version, stored_at: INSTANT, expires_at: null, rest: {} },
  })),
  recordCase(checkpointKind, { id: `${home}/k1`, namespace: 'team' }, (version) => ({
    ...{ checkpoint_id: 'k1', maker: home, namespace: 'team', title: `title ${version}` },
    ...{ condition_type: 'approval', condition: { approvers: ['ai:b'] }, state: 'pending' as const },
    ...{ created_by: 'ai:a', created_at: INSTANT, deadline_at: null, resolved_by: null, resolution: null },
    ...{ resolution_note: null, resolved_at: null, metadata: {}, signature: null, public_key: null },
    rest: { zeta: version },
  })),
  recordCase(routineKind, { id: `${home}/r1`, namespace: 'team' }, (version) => ({
    ...{ routine_id: 'r1', maker: home, namespace: 'team', name: `name ${version}`, template: {} },
    ...{ parameters: '[]', state: 'draft' as const, created_by: 'ai:a', created_at: INSTANT },
    ...{ frozen_at: null, metadata: {}, signature: null, public_key: null, rest: {} },
  })),
  recordCase(routineRunKind, { id: `${home}/run1`, namespace: 'team' }, (version) => ({
    ...{ run_id: 'run1', maker: home, routine_id: 'r1', namespace: 'team', arguments: { version } },
    ...{ state: 'failed' as const, created_action_ids: [], created_by: 'ai:a', started_at: INSTANT },
    ...{ finished_at: INSTANT, error: 'why', metadata: {}, rest: {} },
  })),
  recordCase(skillKind, { id: 'skill1', namespace: 'team' }, (version) => ({
    ...{ skill_id: 'skill1', namespace: 'team', name: 'deploy', description: `description ${version}` },
    ...{ license: 'MIT', compatibility: null, allowed_tools: ['Read'], metadata: { scope: 'collective' } },
    ...{ body_sha256: DIGEST, content_id: `team|${DIGEST}`, pieces: 1, digest: DIGEST, agent_id: 'ai:a' },
    ...{ created_at: INSTANT, updated_at: INSTANT, superseded_by: null, head_of: 'team|deploy' },
    ...{ signature: null, public_key: null, rest: { zeta: version } },
  })),
  recordCase(skillContentKind, { id: `team|${DIGEST}`, namespace: 'team' }, (version) => ({
    ...{ namespace: 'team', sha256: DIGEST, data: 'qrpg', size: version, agent_id: 'ai:a', rest: {} },
  })),
  recordCase(skillResourceKind, { id: 'skill1|0|run.sh', namespace: 'team' }, (version) => ({
    ...{ skill_id: 'skill1', namespace: 'team', path: 'run.sh', piece: 0, pieces: 1 },
    ...{ resource_kind: 'script' as const, sha256: DIGEST, size: version, content_id: `team|${DIGEST}` },
    ...{ agent_id: 'ai:a', rest: {} },
  })),
  recordCase(tokenRootKind, { id: `${home}/${'a'.repeat(16)}`, namespace: '_mesh' }, (version) => ({
    ...{ peer_id: home, key_id: 'a'.repeat(16), public_key: `${version}`.repeat(64).slice(0, 64) },
    ...{ created_at: INSTANT, rest: {} },
  })),
  recordCase(tokenRevocationKind, { id: 'b'.repeat(128), namespace: '_mesh' }, (version) => ({
    ...{ revocation_id: 'b'.repeat(128), revoked_by: `by ${version}`, revoked_at: INSTANT, rest: {} },
  })),
  recordCase(stickerKind, { id: 'a sticker', namespace: 'team' }, (version) =>
    aSticker({ text: `text ${version}`, score: version, rest: { zeta: version } }),
  ),
  recordCase(lampKind, { id: `${home}/lamp`, namespace: 'team' }, (version) => ({
    ...{ lit: version % 2 === 0 ? 'on' : 'off', rest: { zeta: version } },
  })),
];

export const CASES = casesAt('peer-a');

const GONE = ['word', 'reason', 'namespace', 'facts', 'hlc', 'origin', 'origin_seq', 'seen'].join(', ');
export const HAVE = (one: Replica) =>
  Object.fromEntries(
    one.db
      .prepare(`SELECT origin, max(origin_seq) AS seq FROM operations GROUP BY origin`)
      .all()
      .map((row) => Object.values(row as { origin: string; seq: number }) as [string, number]),
  );

/** Gives one replica what another has. */
export async function sync(from: Replica, to: Replica): Promise<void> {
  const operations = await from.read(HAVE(to));
  const { applied, noop } = await to.apply(operations);
  assert.equal(applied + noop, operations.length);
}

export const tombstones = ({ db }: Replica) => db.prepare(`SELECT kind, id, ${GONE} FROM tombstones`).all();

export async function alike(one: Replica, two: Replica): Promise<void> {
  assert.deepEqual(await two.state(), await one.state());
  assert.deepEqual(tombstones(two), tombstones(one));
  assert.deepEqual([one.audit(), two.audit()], [[], []]);
}

export async function ask<T>(one: Replica, query: Query): Promise<T> {
  const answer = await one.store.query(query);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value as T;
}

export interface Page {
  readonly suspects: readonly { readonly kind: string; readonly id: string }[];
  readonly looked: number;
  readonly next: string | null;
}

/** All suspects of a kind, a row at a time. */
export async function suspects(one: Replica, kind: string) {
  const found: Page['suspects'][number][] = [];
  let [looked, after] = [0, null as string | null];
  do {
    const page: Page = await ask(one, { kind: 'scrub-rows', of: kind, after, limit: 1 });
    found.push(...page.suspects);
    looked += page.looked;
    after = page.next;
  } while (after !== null);
  return { found, looked };
}

export const repair = async (one: Replica, request: Parameters<typeof repairOf>[0]) =>
  (await one.run(repairOf(request))) as RepairOutcome;
