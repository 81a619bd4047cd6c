import { PULL_QUERY_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Clock, Random } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { RangesQuestion } from '../../protocol/log/ranges.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Command } from '../../protocol/release.js';
import { checkForwardedReply, type ForwardedReply } from '../../protocol/wire/forward.js';
import { errorTagOf, skewOf } from '../../protocol/wire/message-body.js';
import {
  COMMANDS_PATH,
  PULL_PATH,
  PUSH_PATH,
  RANGES_PATH,
  SINCE_PATH,
} from '../../protocol/wire/message-paths.js';
import { type MessageParts, signMessage } from '../../protocol/wire/message-signing.js';
import { type PullQuestion, pullBody, pullQuery } from '../../protocol/wire/pull-question.js';
import { type CheckedPullReply, checkPullReply } from '../../protocol/wire/pull-reply.js';
import { type CheckedPushReply, checkPushReply } from '../../protocol/wire/push-message.js';
import type { PeerReply, PeerTransport } from '../../protocol/wire/transport.js';
import type { Cause } from './connection-state.js';
import type { MeshSelf } from './parts.js';

/** A peer's answer with the times measured, or why there is no answer. */
export type Delivered<R> =
  | { readonly ok: true; readonly reply: R; readonly skewMs: number; readonly tookMs: number }
  | {
      readonly ok: false;
      readonly cause: Cause;
      readonly message: string;
      /** How far this node's clock is ahead of the peer's, at least; null when the peer did not say. */
      readonly aheadMs: number | null;
    };

/** A body with its signature, for the peer that it names. */
export interface SignedBody {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PeerClientParts {
  readonly self: MeshSelf;
  readonly transport: PeerTransport;
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
}

/** How a page is requested. */
export interface PullHow {
  /** Only these origins; null means all. */
  readonly origins?: readonly string[] | null;
  /** The cursor says only where to begin, not what this node has. */
  readonly place?: boolean;
  /** Also operations of which the peer has only the headers: no other peer has them. */
  readonly stubs?: boolean;
}

/** Speaks to peers: signs requests, verifies answers, and turns each mishap into a typed failure. */
export class PeerClient {
  constructor(private readonly parts: PeerClientParts) {}

  /** Signs the body of a push. */
  sign(body: Uint8Array): SignedBody {
    const { self, random } = this.parts;
    const message = { method: 'POST', path: PUSH_PATH, query: '', body } as const;
    return { body, headers: signMessage({ ...message, peerId: self.peerId, signer: self.signer, random }) };
  }

  async push(peer: Peer, { body, headers }: SignedBody): Promise<Delivered<CheckedPushReply>> {
    const request = { method: 'POST', path: PUSH_PATH, query: '', headers, body } as const;
    const delivered = await this.send(peer, request, checkPushReply);
    if (!delivered.ok) return delivered;
    const { receiver } = delivered.reply;
    if (receiver === null || receiver === peer.peerId) return delivered;
    // Without a certificate bound to the address, another node may answer there; its copy must not count as this
    // peer's.
    return {
      ok: false,
      cause: 'untrusted',
      aheadMs: null,
      message: `another node answers at the address of this peer: ${receiver}`,
    };
  }

  /**
   * Asks for operations beyond `have`, at most about `limit`, only of `origins` unless that is null. The peer takes
   * `have` for what is durably here, unless `place` says that it is only where to read from.
   */
  async pull(
    peer: Peer,
    have: Have,
    limit: number,
    { origins = null, place = false, stubs = false }: PullHow = {},
  ): Promise<Delivered<CheckedPullReply>> {
    const question: PullQuestion = { have, limit, origins, place, stubs };
    const sentAt = instantFromMs(this.parts.clock.nowMs());
    const query = pullQuery(question, this.parts.self.peerId, peer.peerId, sentAt);
    return query.length <= PULL_QUERY_BYTES_MAX
      ? this.signed(peer, { method: 'GET', path: SINCE_PATH, query, body: null }, checkPullReply)
      : this.post(peer, PULL_PATH, pullBody(question, peer.peerId, sentAt), checkPullReply);
  }

  /** Asks how ranges of rows compare, or for operations that are missing here. */
  ask<R extends { readonly wall_clock: string }>(
    peer: Peer,
    ask: RangesQuestion,
    check: (body: Uint8Array) => R | null,
  ): Promise<Delivered<R>> {
    const { self, clock } = this.parts;
    const sentAt = instantFromMs(clock.nowMs());
    const said = { sender_agent_id: self.peerId, sender_wall_clock: sentAt, receiver: peer.peerId, ask };
    return this.post(peer, RANGES_PATH, said, check);
  }

  /** Passes a command on to the home of its subject. */
  forward(peer: Peer, command: Command): Promise<Delivered<ForwardedReply>> {
    const sentAt = instantFromMs(this.parts.clock.nowMs());
    const said = { sender_wall_clock: sentAt, receiver: peer.peerId, command };
    return this.post(peer, COMMANDS_PATH, said, checkForwardedReply);
  }

  private post<R extends { readonly wall_clock: string }>(
    peer: Peer,
    path: string,
    said: object,
    check: (body: Uint8Array) => R | null,
  ): Promise<Delivered<R>> {
    const body = new TextEncoder().encode(JSON.stringify(said));
    return this.signed(peer, { method: 'POST', path, query: '', body }, check);
  }

  private signed<R extends { readonly wall_clock: string }>(
    peer: Peer,
    message: MessageParts,
    check: (body: Uint8Array) => R | null,
  ): Promise<Delivered<R>> {
    const { self, random } = this.parts;
    const headers = signMessage({ ...message, peerId: self.peerId, signer: self.signer, random });
    return this.send(peer, { ...message, headers }, check);
  }

  private async send<R extends { readonly wall_clock: string }>(
    peer: Peer,
    request: Parameters<PeerTransport['send']>[1],
    check: (body: Uint8Array) => R | null,
  ): Promise<Delivered<R>> {
    const { transport, clock, requestTimeoutMs } = this.parts;
    const sentAtMs = clock.monotonicMs();
    const answer = await transport.send(peer, request, requestTimeoutMs);
    if (answer.kind !== 'answer')
      return { ok: false, cause: answer.kind, message: answer.message, aheadMs: null };
    const tookMs = clock.monotonicMs() - sentAtMs;
    if (answer.status !== 200) return refusal(answer);
    const reply = check(answer.body);
    if (reply === null)
      return {
        ok: false,
        cause: 'rubbish',
        message: 'the answer does not have the form of a peer reply',
        aheadMs: null,
      };
    // The peer's clock was read about half-way through the exchange.
    const skewMs = Math.round(Date.parse(reply.wall_clock) - (clock.nowMs() - tookMs / 2));
    return { ok: true, reply, skewMs, tookMs };
  }
}

function refusal({ status, body }: PeerReply & { kind: 'answer' }): Delivered<never> {
  const tag = errorTagOf(body);
  const message = `HTTP ${status}${tag === null ? '' : ` ${tag}`}`;
  const aheadMs = tag === OUT_OF_TIME ? skewOf(body) : null;
  return { ok: false, cause: causeOf(status, tag), message, aheadMs };
}

/** How a peer refuses a message whose date is far from its clock; it says how far. */
const OUT_OF_TIME = 'message_out_of_time';

function causeOf(status: number, tag: string | null): Cause {
  // The peer has a damaged row and repairs it soon. That says nothing about what was sent.
  if (tag === 'DATA_DAMAGED') return 'overloaded';
  if (status === 429) return 'throttled';
  // 503 means overload or shutting down, 504 a deadline in the peer's own queues, 507 a full disk.
  if (status === 503 || status === 504 || status === 507) return 'overloaded';
  // Another node answers at the address of this peer.
  if (tag === 'x_memory_receiver_mismatch') return 'untrusted';
  if (tag === OUT_OF_TIME) return 'refused:clock_skew';
  if (status === 401 || status === 403) return 'refused:unauthorised';
  if (status === 413) return 'refused:too_large';
  if (tag === 'ROUTE_NOT_FOUND' || tag === 'METHOD_NOT_ALLOWED') return 'refused:no_route';
  if (status >= 500) return 'refused:internal';
  return status >= 400 ? 'refused:bad_request' : 'rubbish';
}
