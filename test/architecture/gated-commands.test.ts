import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canWait } from '../../protocol/decide/command.js';
import { COMMANDS, type Command, type GatedKind } from '../../protocol/release.js';
import { governedWriter } from '../support/governed-writer.js';
import { aMemory, linking, OPERATOR } from '../support/memories.js';
import { aTurn } from '../support/turns.js';

const REQUESTER = 'ai:requester';
const WRITER = 'ai:writer-of-it';
const BY = { requestedBy: REQUESTER, writtenAs: WRITER, isOwn: true };

type Of<K extends GatedKind> = Extract<Command, { readonly kind: K }>;
/** Those that never wait: a forget, the registration of a skill, which may take several commands, and what the curator does. */
const NEVER = [
  'forget-memories',
  'curate-consolidation',
  'curate-forget',
  'curate-metadata',
  'curate-priority',
  'roll-back-curation',
  'store-skill-files',
  'register-skill',
] as const;
type Waiting = Exclude<GatedKind, (typeof NEVER)[number]>;

const memory = aMemory({ metadata: { agent_id: WRITER, attest_level: 'claimed' } });
const viewer = OPERATOR;
const { link } = linking('m1', 'm2');

/** A command of each kind that can wait, as the operator would give it. */
const SAMPLES: { readonly [K in Waiting]: Of<K> } = {
  'store-memory': {
    ...{ kind: 'store-memory', memory, onConflict: 'error', viewer, archive: true, envelope: null },
  },
  'register-entity': {
    ...{ kind: 'register-entity', memory, ids: ['m1'], aliases: ['a'], viewer, archive: true },
  },
  'capture-turn': aTurn({ agentId: WRITER, viewer }),
  'send-message': {
    kind: 'send-message',
    memory: { ...memory, namespace: '_messages/ai:b' },
    viewer,
  },
  'share-memory': {
    ...{ kind: 'share-memory', id: 'm1', copyId: 'c1', from: REQUESTER, to: 'ai:b', viewer },
  },
  'update-memory': {
    ...{ kind: 'update-memory', id: 'm1', expectedVersion: null, viewer, archive: true },
    patch: { title: 't', tier: 'long', expires_at: null, scope: 'collective', metadata: { a: 1 } },
  },
  'undo-edit': { kind: 'undo-edit', id: 'm1', dryRun: false, viewer, archive: true },
  'restore-memory': {
    ...{ kind: 'restore-memory', id: 'm1', viewer, archive: true },
    ttlSeconds: { short: 60, mid: 3600, long: null },
  },
  'promote-memory': {
    ...{ kind: 'promote-memory', id: 'm1', targetTier: 'long', viewer, archive: true },
    vertical: { toNamespace: 'team', cloneId: 'c1' },
  },
  'delete-memory': { kind: 'delete-memory', id: 'm1', archive: true, viewer },
  'archive-memories': { kind: 'archive-memories', ids: ['m1', 'm2'], reason: 'manual', viewer },
  'resolve-memories': { kind: 'resolve-memories', winnerId: 'm1', loserId: 'm2', viewer },
  'consolidate-memories': {
    ...{ kind: 'consolidate-memories', ids: ['m1', 'm2'], summary: null, onConflict: 'error' },
    result: { id: 'm3', title: 't', namespace: 'team', tier: 'mid', expiresAt: null },
    ...{ agentId: REQUESTER, viewer, archive: true },
  },
  'store-reflection': {
    ...{ kind: 'store-reflection', memory, depth: null, viewer, archive: true },
    links: [{ ...link, source_id: memory.id, relation: 'reflects_on', observed_by: WRITER }],
  },
  'store-atom': {
    ...{ kind: 'store-atom', memory: { ...memory, atom_of: 'm2' }, viewer, archive: true },
    link: { ...link, source_id: memory.id, target_id: 'm2', relation: 'derives_from', observed_by: WRITER },
  },
  'mark-atomised': { kind: 'mark-atomised', id: 'm1', atomIds: ['a1', 'a2'], version: 1, viewer },
  'store-persona': {
    ...{ kind: 'store-persona', memory, viewer, archive: true },
    links: [{ ...link, source_id: memory.id, relation: 'derived_from', observed_by: WRITER }],
  },
  'create-link': {
    ...{ kind: 'create-link', link, viewer, by: REQUESTER },
    asked: { valid_from: null, valid_until: null },
  },
  'invalidate-link': {
    ...{ kind: 'invalidate-link', validUntil: null, viewer, by: WRITER },
    link: { source_id: 'm1', target_id: 'm2', relation: 'related_to' },
  },
  'drop-links': { kind: 'drop-links', sourceId: 'm1', targetId: 'm2', relation: null, viewer },
};

type Sent = Readonly<Record<string, unknown>>;
const sent = (command: object): Sent => JSON.parse(JSON.stringify(command)) as Sent;
/** Members that a sender may leave out. */
const OPTIONAL: ReadonlySet<string> = new Set(['vertical', 'archive']);

const GATED = COMMANDS.all.filter(({ gate }) => typeof gate !== 'string');
const waiting = GATED.filter(canWait);
const readPutAside: typeof COMMANDS.readPutAside = (command, by) => COMMANDS.readPutAside(command, by);

describe('a command that waits for its approval', () => {
  it('is of a kind that has a sample here; few never wait', () => {
    assert.deepEqual(waiting.map(({ kind }) => kind).sort(), Object.keys(SAMPLES).sort());
    assert.deepEqual(
      GATED.filter((declared) => !canWait(declared)).map(({ kind }) => kind),
      [...NEVER],
    );
  });

  for (const { kind } of waiting) {
    const sample = SAMPLES[kind as Waiting] as Command;

    it(`says what it proposes: ${kind}`, () => {
      const proposal = COMMANDS.proposalOf(sent(sample));
      assert.ok(proposal !== null && (proposal.about.length > 0 || proposal.brings !== null));
      assert.equal(COMMANDS.proposalOf({ kind }), null);
    });

    it(`is read member by member, and runs as its requester: ${kind}`, () => {
      const read = readPutAside(sent(sample), BY);
      assert.deepEqual(read, {
        ...sent(sample),
        ...('memory' in sample ? { memory: sent(sample.memory as object) } : {}),
        viewer: { all: false, agentId: REQUESTER, asNamespace: null },
      });
    });

    it(`is not read in another shape: ${kind}`, () => {
      const whole = sent(sample);
      assert.equal(readPutAside({ ...whole, more: 1 }, BY), null);
      for (const member of Object.keys(whole)) {
        if (member === 'kind' || member === 'viewer') continue;
        for (const wrong of [Symbol('no value'), 7.5, { kind: 'other' }, [7.5]])
          assert.equal(
            readPutAside({ ...whole, [member]: wrong }, BY),
            null,
            `${member} is ${String(wrong)}`,
          );
        const { [member]: _, ...without } = whole;
        if (!(kind === 'promote-memory' && OPTIONAL.has(member)))
          assert.equal(readPutAside(without, BY), null, `without ${member}`);
      }
    });

    it(`writes in the name of its requester only: ${kind}`, () => {
      const said = JSON.stringify(sample);
      if (!said.includes(REQUESTER) && !said.includes(WRITER)) return;
      const forged = JSON.parse(said.replaceAll(REQUESTER, 'ai:boss').replaceAll(WRITER, 'ai:boss')) as Sent;
      assert.equal(readPutAside(forged, BY), null);
    });
  }

  it('of another kind is neither read nor executed, whatever approves it', () => {
    const gated = new Set<string>(GATED.map(({ kind }) => kind));
    const others = [
      ...COMMANDS.all.map(({ kind }) => kind).filter((kind) => !gated.has(kind)),
      ...NEVER,
      'no-such',
    ];
    const node = governedWriter();
    node.register('ai:lead');
    const before = node.db.prepare('SELECT count(*) FROM memories').pluck().get();
    for (const kind of [...others, null, 7, '__proto__', 'constructor']) {
      const command = { ...sent(SAMPLES['update-memory']), kind, viewer: OPERATOR } as never;
      assert.equal(readPutAside(command, BY), null, String(kind));
      const pendingId = `p-${String(kind)}`;
      node.must({
        ...{ kind: 'request-approval', pendingId, command, action: 'update', namespace: 'team' },
        ...{ memoryId: null, approver: { form: 'human' }, requestedBy: REQUESTER },
      });
      const vote = { kind: 'vote-pending', pendingId, agentId: 'ai:lead', remember: 'once' } as const;
      const refused = node.refused({ ...vote, decision: 'approve' });
      assert.equal(refused.code, 'PENDING_ACTION_STATE_INVALID', String(kind));
      assert.match(refused.message, /cannot execute/);
      node.must({ ...vote, decision: 'deny' });
    }
    assert.equal(node.db.prepare('SELECT count(*) FROM memories').pluck().get(), before);
  });
});
