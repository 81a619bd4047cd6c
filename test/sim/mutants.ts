import { formatHlc } from '../../protocol/base/hlc.js';
import { ok, type Result } from '../../protocol/base/result.js';
import { type Lease, tokenAfter } from '../../protocol/coordination/lease-kind.js';
import type { AcquireLease, HeldLease } from '../../protocol/coordination/leases.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import type { Dot } from '../../protocol/kinds/version.js';
import { decodeCursor, encodeCursor } from '../../protocol/log/cursor.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import { memoryKind } from '../../protocol/memory/memory-kind.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import type { ApplyOperations, ApplyOutcome } from '../../protocol/replication/apply-operations.js';
import type { PullReply, PushBody } from '../../protocol/wire/bodies.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import type { PeerReply, PeerRequest, PeerTransport } from '../../protocol/wire/transport.js';
import type { CallOptions, Store } from '../../storage/port.js';
import { Dice } from './dice.js';
import type { Mutant } from './mutant.js';
import { leaseKind, SIM_KINDS } from './sim-kinds.js';
import type { SimNode } from './sim-node.js';

type Apply = (command: ApplyOperations) => Promise<Result<ApplyOutcome>>;

/** A store that does something else with operations of others. */
function applying(change: (apply: Apply, node: SimNode) => Apply) {
  return (store: Store, node: SimNode): Store => {
    const apply = change((command) => store.execute(command), node);
    return instead(store, (command) => (command.kind === 'apply-operations' ? apply(command) : null));
  };
}

/** A store in which some commands come to something else; null leaves a command alone. */
function instead(
  store: Store,
  change: (command: Command) => Promise<Result<OutcomeOf<Command>>> | null,
): Store {
  return {
    execute: <C extends Command>(command: C, options?: CallOptions) =>
      (change(command) ?? store.execute(command, options)) as Promise<Result<OutcomeOf<C>>>,
    query: (query, options) => store.query(query, options),
    selfCheck: (cursor, options) => store.selfCheck(cursor, options),
    close: () => store.close(),
  };
}

/** What an answer would be if everything had been taken. */
function allTaken({ operations }: ApplyOperations): ApplyOutcome {
  const have: Record<string, number> = {};
  for (const { origin, seq } of operations) have[origin] = Math.max(have[origin] ?? 0, seq);
  return { applied: operations.length, noop: 0, refused: [], parked: [], have };
}

const timedOut = (reply: PeerReply) => reply.kind === 'timeout';

function jsonAnswer(body: unknown): PeerReply {
  return { kind: 'answer', status: 200, body: Buffer.from(JSON.stringify(body)) };
}

/** What a push's answer would be if the peer had taken all of it. */
function pushTaken(request: PeerRequest, node: SimNode): PeerReply {
  const body = JSON.parse(Buffer.from(request.body!).toString()) as PushBody;
  const have: Record<string, number> = {};
  for (const { origin, seq } of body.operations) have[origin] = seq;
  const wall_clock = new Date(node.parts.wall.nowMs()).toISOString();
  return jsonAnswer({ applied: body.operations.length, noop: 0, refused: [], parked: [], have, wall_clock });
}

const NEVER: Dot = { hlc: '', origin: '', seq: 0 };

/** The kinds of the simulator with one of them declared otherwise. */
const withKind = <I extends object>(kind: Kind<I>): Kinds =>
  new Kinds(SIM_KINDS.all.map((each) => (each.name === kind.name ? kind : each)));

/** Asks with a cursor of what the peer said it has, instead of what is durably here. */
function cursorOfClaim(transport: PeerTransport, node: SimNode): PeerTransport {
  const claims = new Map<string, Have>();
  const dice = new Dice(node.name, 'claims');
  return {
    send: async (peer, request, timeoutMs) => {
      const query = new URLSearchParams(request.query);
      const cursor = query.get('cursor');
      const claim = claims.get(peer.peerId);
      let sent = request;
      if (cursor !== null && claim !== undefined) {
        query.set('cursor', encodeCursor({ ...decodeCursor(cursor), ...claim }));
        const unsigned = { ...request, query: query.toString() };
        const random = {
          uuid: () => dice.uuid(),
          bytes: (n: number) => dice.bytes(n),
          unit: () => dice.unit(),
        };
        sent = {
          ...unsigned,
          headers: signMessage({ ...unsigned, peerId: node.peerId, signer: node.signer, random }),
        };
      }
      const reply = await transport.send(peer, sent, timeoutMs);
      if (request.method === 'GET' && reply.kind === 'answer' && reply.status === 200) {
        const { have } = JSON.parse(Buffer.from(reply.body).toString()) as PullReply;
        claims.set(peer.peerId, have);
      }
      return reply;
    },
  };
}

interface Said {
  readonly origin: string;
  readonly seq: number;
  readonly payload: string | null;
}

/** What the log of a node says of memories. */
const payloadsOf = ({ disk: { db } }: SimNode, subjects: readonly string[]): readonly Said[] =>
  subjects.flatMap(
    (subject) =>
      db
        .prepare('SELECT origin, origin_seq AS seq, payload FROM operations WHERE subject = ?')
        .all(subject) as Said[],
  );

function putPayloads({ disk: { db } }: SimNode, said: readonly Said[]): void {
  const put = db.prepare(
    'UPDATE operations SET payload = coalesce(payload, ?) WHERE origin = ? AND origin_seq = ? AND parked IS NULL',
  );
  for (const { origin, seq, payload } of said) put.run(payload, origin, seq);
}

/** Every planted bug, with the number of seeds within which it must be caught. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'acknowledge-without-storing',
    bug: 'one push in ten is answered and forgotten',
    seeds: 4,
    store: applying((apply, node) => {
      const dice = new Dice(node.name, 'forget');
      return (command) => (dice.chance(0.1) ? Promise.resolve(ok(allTaken(command))) : apply(command));
    }),
  },
  {
    name: 'acknowledge-before-commit',
    bug: 'a push is answered before its transaction is synced',
    seeds: 4,
    faults: ['slow-sync', 'crash-at-sync'],
    store: applying((apply) => (command) => {
      void apply(command);
      return Promise.resolve(ok(allTaken(command)));
    }),
  },
  {
    name: 'half-a-batch',
    bug: 'a batch of several operations is applied in half and acknowledged whole',
    seeds: 8,
    store: applying((apply) => async (command) => {
      const half = command.operations.slice(0, Math.ceil(command.operations.length / 2));
      const applied = await apply({ ...command, operations: half });
      return applied.ok ? ok(allTaken(command)) : applied;
    }),
  },
  {
    name: 'parked-is-acknowledged',
    bug: 'operations without effect count as copies',
    seeds: 4,
    store: applying((apply) => async (command) => {
      const operations = command.operations.map((operation) =>
        operation.seq % 7 === 0 ? { ...operation, refusal: 'bad_signature' as const } : operation,
      );
      const applied = await apply({ ...command, operations });
      return applied.ok ? ok({ ...applied.value, parked: [] }) : applied;
    }),
  },
  {
    name: 'silence-is-success',
    bug: 'a push whose answer is lost counts as taken',
    seeds: 6,
    faults: ['loss', 'partition', 'one-way', 'crash'],
    transport: (transport, node) => ({
      send: async (peer, request, timeoutMs) => {
        if (request.method !== 'POST') return transport.send(peer, request, timeoutMs);
        const reply = await transport.send(peer, request, Math.min(timeoutMs, 300));
        return timedOut(reply) ? pushTaken(request, node) : reply;
      },
    }),
  },
  {
    name: 'nonce-in-memory-only',
    bug: 'used nonces are forgotten at a restart',
    seeds: 12,
    faults: ['replays', 'crash'],
    store: (store) =>
      instead(store, (command) => {
        if (command.kind === 'use-nonce') return Promise.resolve(ok({}));
        if (command.kind !== 'apply-operations') return null;
        return store.execute({ ...command, nonce: null });
      }),
  },
  {
    name: 'last-writer-wins-by-arrival',
    bug: 'an operation is stamped by the wall clock of its receiver',
    seeds: 4,
    store: applying((apply, node) => (command) => {
      const hlc = formatHlc(node.parts.wall.nowMs(), 0);
      return apply({ ...command, operations: command.operations.map((each) => ({ ...each, hlc })) });
    }),
  },
  {
    name: 'causality-forgotten',
    bug: 'what an operation had seen is dropped on its way into the store',
    seeds: 4,
    store: applying(
      (apply) => (command) =>
        apply({ ...command, operations: command.operations.map((each) => ({ ...each, seen: {} })) }),
    ),
  },
  {
    name: 'tombstones-dropped',
    bug: 'the traces of deletions are cleared away at once',
    seeds: 10,
    faults: ['partition', 'loss', 'lost-answers'],
    store: applying((apply, node) => async (command) => {
      const applied = await apply(command);
      if (!node.disk.held) node.disk.db.exec('DELETE FROM tombstones');
      return applied;
    }),
  },
  {
    name: 'deletes-not-applied',
    bug: 'a delete of another node is noted and has no effect',
    seeds: 4,
    store: applying((apply) => async (command) => {
      const deletes = command.operations.filter(({ kind }) => kind === 'delete');
      const ids = new Set(deletes.map(({ origin, seq }) => operationId(origin, seq)));
      const operations = command.operations.map((each) =>
        each.kind === 'delete' ? { ...each, refusal: 'bad_signature' as const } : each,
      );
      const applied = await apply({ ...command, operations });
      if (!applied.ok) return applied;
      return ok({ ...applied.value, parked: applied.value.parked.filter(({ op_id }) => !ids.has(op_id)) });
    }),
  },
  {
    name: 'erasures-end',
    bug: 'an erasure is a deletion like any other',
    seeds: 8,
    kinds: withKind({ ...memoryKind, final: [] }),
  },
  {
    name: 'erasures-keep-the-log',
    bug: 'an erasure of another node leaves what the log says of the memory',
    seeds: 8,
    store: applying((apply, node) => async (command) => {
      const erased = command.operations.filter(({ kind }) => kind === 'erase').map(({ subject }) => subject);
      const before = payloadsOf(node, erased);
      const applied = await apply(command);
      if (!node.disk.held) putPayloads(node, before);
      return applied;
    }),
  },
  {
    name: 'late-text-of-the-erased',
    bug: 'what comes after an erasure is kept whole in the log',
    seeds: 16,
    faults: ['partition', 'loss', 'one-way'],
    store: applying((apply, node) => async (command) => {
      const applied = await apply(command);
      const late = command.operations.map(({ origin, seq, payload }) => ({ origin, seq, payload }));
      if (!node.disk.held) putPayloads(node, late);
      return applied;
    }),
  },
  {
    name: 'erased-is-imported',
    bug: 'a tombstone of an erasure does not keep imports away',
    seeds: 20,
    store: (store, node) =>
      instead(store, (command) => {
        if (command.kind !== 'import-memory' || node.disk.held) return null;
        node.disk.db
          .prepare("UPDATE tombstones SET word = 'delete' WHERE word = 'erase' AND id = ?")
          .run(command.memory.id);
        return store.execute(command);
      }),
  },
  {
    name: 'no-pull',
    bug: 'nodes push and never ask',
    seeds: 12,
    faults: ['lost-disk', 'partition', 'crash'],
    transport: (transport) => ({
      send: async (peer, request, timeoutMs) => {
        const reply = await transport.send(peer, request, timeoutMs);
        if (request.method !== 'GET' || reply.kind !== 'answer' || reply.status !== 200) return reply;
        const page = JSON.parse(Buffer.from(reply.body).toString()) as PullReply;
        return jsonAnswer({ ...page, operations: [], heads: [], more: false });
      },
    }),
  },
  {
    name: 'cursor-of-a-claim',
    bug: 'a node asks for what lies beyond what the peer has, instead of beyond what it has itself',
    seeds: 12,
    faults: ['lost-disk', 'partition', 'crash'],
    transport: cursorOfClaim,
  },
  {
    name: 'epoch-goes-on',
    bug: 'a database that was put back goes on under its old epoch',
    seeds: 20,
    faults: ['old-backup', 'loss'],
    store: (store) =>
      instead(store, (command) =>
        command.kind === 'begin-epoch' ? Promise.resolve(ok({ origin: 'never/begun' })) : null,
      ),
  },
  {
    name: 'no-anti-entropy',
    bug: 'nodes never compare their rows',
    seeds: 8,
    faults: ['damage', 'crash'],
    damages: ['digest changed'],
    transport: (transport) => ({
      send: (peer, request, timeoutMs) =>
        request.path.endsWith('/mesh/ranges')
          ? Promise.resolve({ kind: 'unreachable', message: 'nobody compares' })
          : transport.send(peer, request, timeoutMs),
    }),
  },
  {
    name: 'join-by-arrival',
    bug: 'of two concurrent texts the one that came first stands',
    seeds: 4,
    kinds: withKind({ ...memoryKind, merge: (versions) => versions[0]!.image, editOf: () => NEVER }),
  },
  {
    name: 'link-tombstones-dropped',
    bug: 'a link that is dropped leaves no trace',
    seeds: 10,
    faults: ['partition', 'loss', 'lost-answers'],
    store: applying((apply, node) => async (command) => {
      const applied = await apply(command);
      if (!node.disk.held) node.disk.db.exec("DELETE FROM tombstones WHERE kind = 'link'");
      return applied;
    }),
  },
  {
    name: 'invalidations-forgotten',
    bug: 'an invalidation of a link that came from another node does not last',
    seeds: 10,
    store: applying((apply, node) => async (command) => {
      const applied = await apply(command);
      if (!node.disk.held) {
        node.disk.db.exec('UPDATE memory_links SET valid_until = NULL WHERE retired_at IS NOT NULL');
      }
      return applied;
    }),
  },
  {
    name: 'decides-anywhere',
    bug: 'a node decides an action whose home it is not',
    seeds: 16,
    kinds: withKind({ ...pendingKind, writer: 'anybody' }),
  },
  {
    name: 'grants-anywhere',
    bug: 'a node grants a lease whose home it is not',
    seeds: 4,
    kinds: withKind({ ...leaseKind, writer: 'anybody' }),
  },
  {
    name: 'tokens-begin-anew',
    bug: 'the fencing tokens of a lease begin anew after a restart',
    seeds: 8,
    actions: true,
    faults: ['crash', 'crash-at-sync'],
    store: (store) => {
      const given = new Map<string, number>();
      return instead(store, (command) =>
        command.kind === 'acquire-lease'
          ? store.execute(command).then((held) => {
              if (!held.ok) return held;
              const token = (given.get(command.id) ?? 0) + 1;
              given.set(command.id, token);
              return ok({ ...held.value, lease: { ...held.value.lease, token } });
            })
          : null,
      );
    },
  },
  {
    name: 'leases-anywhere',
    bug: 'a node that is not the home of an action grants its lease, from what it has of it',
    seeds: 8,
    actions: true,
    store: (store, node) =>
      instead(store, (command) =>
        command.kind === 'acquire-lease'
          ? store
              .execute(command)
              .then((held) => (held.ok || held.error.code !== 'NOT_HOME' ? held : grantedHere(command, node)))
          : null,
      ),
  },
  {
    name: 'terms-by-wall-clock',
    bug: 'the term of a lease is counted on the wall clock',
    seeds: 12,
    actions: true,
    faults: ['clock-jump'],
    clock: (clock) => ({ nowMs: () => clock.nowMs(), monotonicMs: () => clock.nowMs() }),
  },
];

/** A lease of an action as a node gives it that does not ask the home. */
function grantedHere({ id, by, ttlSecs }: AcquireLease, { disk, parts }: SimNode): Result<HeldLease> {
  const text = disk.db
    .prepare("SELECT payload FROM records WHERE kind = 'lease' AND payload ->> '$.action_id' = ?")
    .pluck()
    .get(id) as string | undefined;
  const before = text === undefined ? null : (JSON.parse(text) as Lease);
  const nowMs = parts.wall.nowMs();
  const at = new Date(nowMs).toISOString();
  const token = tokenAfter(before?.token ?? 0, 0, Math.floor(nowMs / 1000));
  const lease: Lease = {
    ...{ action_id: id, namespace: 'alpha', holder: by, token, ttl_secs: ttlSecs, acquired_at: at, rest: {} },
  };
  const term = { lease_id: '', action_id: id, token, renewals: 0, ttl_secs: ttlSecs, heartbeat_at: at };
  return ok({ lease, term });
}
