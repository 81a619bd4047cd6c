import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { ok } from '../../protocol/base/result.js';
import type { Timer } from '../../protocol/base/seams.js';
import { decodeCursor, encodeCursor } from '../../protocol/log/cursor.js';
import { headerHash, type OperationHeader } from '../../protocol/log/operation-log.js';
import {
  type Have,
  headBytes,
  type OperationPage,
  type VerifiedOperation,
  type WireOperation,
} from '../../protocol/log/wire-operation.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { UsedNonce } from '../../protocol/replication/used-nonce.js';
import type { PeerReply, PeerTransport } from '../../protocol/wire/transport.js';
import type { Response } from './network.js';
import type { JoinMesh, NodeRun } from './sim-node.js';

const PUSH_EVERY_MS = 150;
const PULL_EVERY_MS = 1200;
const ANSWER_WITHIN_MS = 3000;
const QUORUM_WITHIN_MS = 2000;
const OPERATIONS_MAX = 200;

/**
 * The least that replicates: push, pull and a quorum over the real store, without trust, back-off or bookkeeping. It
 * shows what the store does under faults, apart from the product's own replication, and the simulator with it.
 */
export const plainMesh: JoinMesh = (run) => Promise.resolve(new PlainMesh(run));

class PlainMesh {
  private readonly acked = new Map<string, number>();
  private readonly waiting = new Set<() => void>();
  private readonly transport: PeerTransport;
  private readonly timers = new Map<() => Promise<void>, Timer>();
  private stopped = false;

  constructor(private readonly run: NodeRun) {
    this.transport = run.transport;
    for (const peer of this.peers()) {
      this.repeat(PUSH_EVERY_MS, () => this.push(peer));
      this.repeat(PULL_EVERY_MS, () => this.pull(peer));
    }
  }

  readonly receive = async ({
    path,
    query,
    headers,
    body,
  }: {
    readonly path: string;
    readonly query: string;
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly body: Uint8Array;
  }): Promise<Response> => {
    const from = headers['x-peer-id']!;
    if (path.endsWith('/since')) {
      const nonce = this.used(from, headers['x-memory-nonce']!);
      const fresh = await this.run.services.store.execute({ kind: 'use-nonce', nonce });
      if (!fresh.ok) return json(409, fresh.error);
      const have = decodeCursor(new URLSearchParams(query).get('cursor')!)!;
      return json(200, await this.page(have));
    }
    const page = JSON.parse(Buffer.from(body).toString()) as OperationPage;
    const applied = await this.apply(page, from, headers['x-memory-nonce']!);
    return json(applied.ok ? 200 : 409, applied.ok ? applied.value : applied.error);
  };

  readonly operate: NonNullable<Awaited<ReturnType<JoinMesh>>['operate']> = async (
    name,
    input,
    caller,
    services,
  ) => {
    const { node } = this.run;
    const operation = OPERATIONS.find((each) => each.name === name)!;
    const answer = await runOperation(
      operation,
      { surface: 'http', caller, input, unknownFields: 'refuse' },
      services,
    );
    const needed = Math.min(node.quorumWrites, 1 + this.peers().length);
    if (!answer.ok || operation.effect !== 'write' || needed < 2) return answer;
    const position = await services.store.query({ kind: 'log-position' });
    if (!position.ok) return answer;
    const seq = position.value.originSeq;
    const copies = () => 1 + [...this.acked.values()].filter((acked) => acked >= seq).length;
    await this.until(() => copies() >= needed, QUORUM_WITHIN_MS);
    const acks = copies();
    return ok({ ...answer.value, quorum_acks: acks, ...(acks < needed ? { quorum_met: false } : {}) });
  };

  stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers.values()) timer.cancel();
    return Promise.resolve();
  }

  remaining(): readonly string[] {
    return [];
  }

  private peers(): readonly Peer[] {
    return this.run.node.roster.peers().filter(({ state }) => state === 'member');
  }

  private repeat(everyMs: number, act: () => Promise<void>): void {
    const { scheduler, services } = this.run;
    const timer = scheduler.after(everyMs * (0.5 + services.random.unit()), () => {
      void act().then(() => {
        if (!this.stopped) this.repeat(everyMs, act);
      });
    });
    this.timers.set(act, timer);
  }

  private until(done: () => boolean, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!done()) return;
        this.waiting.delete(look);
        timer.cancel();
        resolve();
      };
      const timer = this.run.scheduler.after(withinMs, () => {
        this.waiting.delete(look);
        resolve();
      });
      this.waiting.add(look);
      look();
    });
  }

  private async push(peer: Peer): Promise<void> {
    const position = await this.run.services.store.query({ kind: 'log-position' });
    if (!position.ok) return;
    const { peerId, dbEpoch, originSeq } = position.value;
    const origin = `${peerId}/${dbEpoch}`;
    const acked = this.acked.get(peer.peerId) ?? 0;
    if (acked >= originSeq) return;
    const page = await this.page({ [origin]: acked }, [origin]);
    const reply = await this.send(peer, 'POST', '/push', '', page);
    const said = bodyOf(reply) as { readonly have: Have; readonly parked: readonly unknown[] } | null;
    if (said === null || said.parked.length > 0) return;
    this.acked.set(peer.peerId, said.have[origin] ?? 0);
    for (const look of [...this.waiting]) look();
  }

  private async pull(peer: Peer): Promise<void> {
    const known = await this.run.services.store.query({ kind: 'known-origins' });
    if (!known.ok) return;
    const have = Object.fromEntries(
      Object.entries(known.value.heads).map(([origin, { seq }]) => [origin, seq]),
    );
    const reply = await this.send(peer, 'GET', '/since', `cursor=${encodeCursor(have)}`, null);
    const page = bodyOf(reply) as OperationPage | null;
    if (page === null || page.operations.length === 0) return;
    const applied = await this.apply(page, peer.peerId, null);
    if (applied.ok && applied.value.refused.some(({ reason }) => reason === 'own_ahead')) {
      const epoch = Buffer.from(this.run.services.random.bytes(8)).toString('hex');
      await this.run.services.store.execute({ kind: 'begin-epoch', epoch, reason: 'put back', keep: null });
      this.acked.clear();
    }
  }

  private send(
    peer: Peer,
    method: 'GET' | 'POST',
    path: string,
    query: string,
    body: unknown,
  ): Promise<PeerReply> {
    const headers = { 'X-Peer-Id': this.run.node.peerId, 'X-Memory-Nonce': this.run.services.random.uuid() };
    const bytes = body === null ? null : Buffer.from(JSON.stringify(body));
    return this.transport.send(peer, { method, path, query, headers, body: bytes }, ANSWER_WITHIN_MS);
  }

  /** A page with the own heads signed. */
  private async page(have: Have, origins: readonly string[] | null = null): Promise<OperationPage> {
    const { services, node } = this.run;
    const read = await services.store.query({
      kind: 'read-operations',
      have,
      origins,
      limit: OPERATIONS_MAX,
      bytesMax: 1_000_000,
    });
    if (!read.ok) return { operations: [], heads: [], more: false };
    const { operations, heads, ends, more } = read.value;
    const own = Object.entries(ends).filter(([origin]) => origin.startsWith(`${node.peerId}/`));
    const signed = own.map(([origin, { seq, hash }]) => {
      const signature = node.signer.sign(headBytes({ origin, seq, hash }));
      return { origin, seq, hash, signature: Buffer.from(signature).toString('base64') };
    });
    const foreign = heads.filter(({ origin }) => !origin.startsWith(`${node.peerId}/`));
    return { operations, heads: [...foreign, ...signed], more };
  }

  private apply(page: OperationPage, from: string, nonce: string | null) {
    const { services } = this.run;
    const verified = page.operations.map((operation): VerifiedOperation => {
      const hash = headerHash(headerOf(operation), services.crypto);
      return { ...operation, hash, refusal: null, scope: null };
    });
    return services.store.execute({
      kind: 'apply-operations',
      from,
      operations: verified,
      heads: page.heads,
      nonce: nonce === null ? null : this.used(from, nonce),
    });
  }

  private used(peerId: string, nonce: string): UsedNonce {
    const { crypto, clock } = this.run.services;
    const usedAtMs = clock.nowMs();
    return {
      peerId,
      fingerprint: crypto.sha256Hex(nonce),
      usedAtMs,
      keepUntilMs: usedAtMs + 1_000_000,
    };
  }
}

const headerOf = ({ payload: _payload, ...header }: WireOperation) => header as OperationHeader;

function bodyOf(reply: PeerReply): unknown {
  return reply.kind === 'answer' && reply.status === 200
    ? JSON.parse(Buffer.from(reply.body).toString())
    : null;
}

function json(status: number, body: unknown): Response {
  return { status, body: Buffer.from(JSON.stringify(body)) };
}
