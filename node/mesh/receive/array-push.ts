import { publicKeyFromText, signatureFromText } from '../../../protocol/base/key-text.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { type Link, unsigned } from '../../../protocol/links/link.js';
import { linkEnvelopeBytes } from '../../../protocol/links/link-envelope.js';
import { mayHold } from '../../../protocol/log/scope.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { Push, PushArray } from '../../../protocol/wire/push-message.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import { FULL_PROFILE } from '../../config/tool-profile.js';
import type { Call, Services } from '../../pipeline/call.js';
import { readyLink, readyMemory } from '../../transfer/import-memory.js';
import { PeerScreen } from '../peer-screen.js';
import { type ItemCounts, type LegacyPush, NO_COUNTERS, type SkippedItem } from './legacy-push.js';
import { type Effect, idOf, liveMemory, outOfScope, type Pushed } from './pushed-item.js';
import { putShippedVector, readShippedVectors } from './shipped-vectors.js';
import { takeSignal, transitionInOperationsOnly } from './signal-items.js';
import { takeStandard, takeStandardClear } from './standard-items.js';

/** Reason of the archive for rows that a peer archived (reference-federation §1.4). */
const ARCHIVE_REASON = 'sync_push';

/**
 * Applies the arrays of a push in the reference's order, item by item through the ordinary commands (reference-federation
 * §1.4). An item that cannot be taken is skipped with a reason and does not affect the others. Each memory, deletion,
 * link and standard must be in the scope of its sender.
 */
export class ArrayPush implements LegacyPush {
  readonly #services: Services;
  readonly #screen: PeerScreen;

  constructor(services: Services) {
    this.#services = services;
    this.#screen = new PeerScreen(services);
  }

  async take(push: Push, peer: Peer): Promise<ItemCounts> {
    const services = this.#services;
    const nowMs = services.clock.nowMs();
    const viewer = { all: true, agentId: push.sender, asNamespace: null };
    const call: Call = {
      surface: 'http',
      again: false,
      caller: { agentId: push.sender, claimed: 'explicit', viewer, admin: false, local: false },
      attestation: { level: 'claimed', signer: null, signature: null, envelope: null },
      nowMs,
      now: instantFromMs(nowMs),
      services,
      profile: FULL_PROFILE,
      progress: () => {},
    };
    const pushed: Pushed = { peer, call, vectors: readShippedVectors(push.arrays.embeddings) };
    const counters: Record<string, number> = { ...NO_COUNTERS };
    const skipped: SkippedItem[] = [];
    let applied = 0;
    let noop = 0;
    for (const [array, take] of STEPS) {
      for (const [index, item] of push.arrays[array].entries()) {
        const passed = await this.#screen.passed(peer.peerId, array, item);
        const taken = passed.ok ? await take(item, pushed) : passed;
        if (!taken.ok) skipped.push({ array, index, code: taken.error.code, error: taken.error.message });
        else if (taken.value === 'noop') noop += 1;
        else if (taken.value === 'applied') applied += 1;
        else counters[taken.value] = (counters[taken.value] ?? 0) + 1;
      }
    }
    return { applied, noop, skipped, counters };
  }
}

const STEPS: readonly (readonly [PushArray, (item: unknown, pushed: Pushed) => Promise<Result<Effect>>])[] = [
  ['memories', takeMemory],
  ['deletions', takeDeletion],
  ['archives', takeArchive],
  ['restores', takeRestore],
  ['links', takeLink],
  ['pendings', inOperationsOnly],
  ['pending_decisions', inOperationsOnly],
  ['namespace_meta', takeStandard],
  ['namespace_meta_clears', takeStandardClear],
  ['signals', takeSignal],
  ['action_transitions', transitionInOperationsOnly],
];

/** An item names no author whose scope could be compared, and only the home of an action decides it. */
async function inOperationsOnly(): Promise<Result<Effect>> {
  return fail(
    'UNAVAILABLE',
    'pending actions and votes are taken as operations only; send them in "operations"',
  );
}

async function takeMemory(item: unknown, { peer, call, vectors }: Pushed): Promise<Result<Effect>> {
  const ready = await readyMemory(call, item, mayName(item, peer), 'ignore');
  if (!ready.ok) return failed(ready.error);
  const { store, settings } = call.services;
  const { memory } = ready.value;
  const received = await store.execute({
    kind: 'receive-memory',
    memory,
    allowedNamespaces: peer.allowedNamespaces,
    agentIds: [call.caller.agentId, ...peer.allowedSenderAgentIds],
    archive: settings.archiveOnGc,
  });
  if (!received.ok) return failed(received.error);
  const { id, change } = received.value;
  if (change === 'unchanged') return ok('noop');
  const vector = vectors.get(memory.id);
  if (vector !== undefined) await putShippedVector(call, id, memory, vector);
  return ok('applied');
}

/** True when the sender's scope lets it write in the name of the agent that a row names. */
function mayName(item: unknown, peer: Peer): boolean {
  const { metadata } = (item ?? {}) as { readonly metadata?: unknown };
  const { agent_id: agentId } = (metadata ?? {}) as { readonly agent_id?: unknown };
  return typeof agentId === 'string' && peer.allowedSenderAgentIds.includes(agentId);
}

async function takeDeletion(item: unknown, pushed: Pushed): Promise<Result<Effect>> {
  const found = await liveMemory(item, pushed);
  if (!found.ok) return found.error.code === 'NOT_FOUND' ? ok('noop') : failed(found.error);
  const { services, caller } = pushed.call;
  const deleted = await services.store.execute({
    kind: 'delete-memory',
    id: found.value.id,
    archive: services.settings.archiveOnGc,
    viewer: caller.viewer,
  });
  if (deleted.ok) return ok('deleted');
  return deleted.error.code === 'NOT_FOUND' ? ok('noop') : failed(deleted.error);
}

async function takeArchive(item: unknown, pushed: Pushed): Promise<Result<Effect>> {
  const found = await liveMemory(item, pushed);
  if (!found.ok) return found.error.code === 'NOT_FOUND' ? ok('noop') : failed(found.error);
  const { services, caller } = pushed.call;
  const archived = await services.store.execute({
    kind: 'archive-memories',
    ids: [found.value.id],
    reason: ARCHIVE_REASON,
    viewer: caller.viewer,
  });
  if (!archived.ok) return failed(archived.error);
  return ok(archived.value.archived.length > 0 ? 'archived' : 'noop');
}

async function takeRestore(item: unknown, { peer, call }: Pushed): Promise<Result<Effect>> {
  const id = idOf(item);
  if (!id.ok) return failed(id.error);
  const { services, caller } = call;
  const found = await services.store.query({ kind: 'find-archived', id: id.value, viewer: caller.viewer });
  if (!found.ok) return found.error.code === 'NOT_FOUND' ? ok('noop') : failed(found.error);
  if (found.value.id !== id.value) return ok('noop');
  if (!mayHold(peer, found.value.namespace)) return outOfScope();
  const restored = await services.store.execute({
    kind: 'restore-memory',
    id: id.value,
    ttlSeconds: ttlSecondsOf(services.settings),
    viewer: caller.viewer,
    archive: services.settings.archiveOnGc,
  });
  return restored.ok ? ok('restored') : failed(restored.error);
}

async function takeLink(item: unknown, pushed: Pushed): Promise<Result<Effect>> {
  const ready = readyLink(pushed.call, item, true, 'ignore');
  if (!ready.ok) return failed(ready.error);
  for (const end of [ready.value.source_id, ready.value.target_id]) {
    const found = await liveMemory(end, pushed);
    if (!found.ok) return failed(found.error);
  }
  const link = await attestedLink(ready.value, pushed.call);
  if (!link.ok) return failed(link.error);
  const imported = await pushed.call.services.store.execute({ kind: 'import-link', link: link.value });
  if (!imported.ok) return failed(imported.error);
  return ok(imported.value.change === 'created' ? 'links_applied' : 'noop');
}

/** A link is attested by the key of the agent that saw it; a signature that this key did not make is refused. */
async function attestedLink(link: Link, { services }: Call): Promise<Result<Link>> {
  if (link.signature === null || link.observed_by === null) return ok(unsigned(link));
  const found = await services.store.query({ kind: 'agent-key', agentId: link.observed_by });
  if (!found.ok) return failed(found.error);
  const bound = found.value.publicKey;
  const publicKey = bound === null ? null : publicKeyFromText(bound);
  if (publicKey === null) return ok(unsigned(link));
  const signature = signatureFromText(link.signature);
  const holds = signature !== null && services.crypto.verify(publicKey, linkEnvelopeBytes(link), signature);
  return holds
    ? ok({ ...link, attest_level: 'peer_attested', public_key: Buffer.from(publicKey).toString('base64') })
    : fail('ATTESTATION_FAILED', 'the signature of the link is not valid');
}
