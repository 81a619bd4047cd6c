import { SYNC_SINCE_LIMIT, SYNC_SINCE_LIMIT_MAX } from '../../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Crypto, Log, Signer } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { CHAIN, type Chain } from '../../../protocol/chain.js';
import { decodeCursor } from '../../../protocol/log/cursor.js';
import type { Have } from '../../../protocol/log/wire-operation.js';
import type { Peer, Roster } from '../../../protocol/peers/peer.js';
import type { Command } from '../../../protocol/release.js';
import type { Verifier } from '../../../protocol/replication/verifier.js';
import { parseForwarded } from '../../../protocol/wire/forward.js';
import {
  COMMANDS_PATH,
  PULL_PATH,
  PUSH_PATH,
  RANGES_PATH,
  SINCE_PATH,
} from '../../../protocol/wire/message-paths.js';
import type { MessagePolicy, Senders } from '../../../protocol/wire/message-verdict.js';
import { type PullQuestion, parsePull } from '../../../protocol/wire/pull-question.js';
import { type Push, parsePush, pushProblem } from '../../../protocol/wire/push-message.js';
import { parseRanges } from '../../../protocol/wire/ranges-messages.js';
import type { ReceivedMessage } from '../../../protocol/wire/transport.js';
import type { Store } from '../../../storage/port.js';
import { parseJsonBody } from '../../http/json-body.js';
import { parseQuery } from '../../http/query-string.js';
import type { PeerScreen } from '../peer-screen.js';
import { handlePull } from './handle-pull.js';
import { handlePush, type PushAnswer, type PushParts } from './handle-push.js';
import { handleRanges } from './handle-ranges.js';
import type { LegacyPush } from './legacy-push.js';
import type { LegacySince } from './legacy-since.js';
import { type Authenticated, MessageGate } from './message-gate.js';
import { answer, type PeerReply, refuse, tagged } from './reply.js';

/** Counters for messages of peers. */
export interface ReceiverMetrics {
  /** A message was answered with this error code. */
  messageRefused(code: string): void;
  /** Operations by their outcome: `applied`, `noop`, or the reason of a refusal or parking. */
  operationsReceived(outcome: string, count: number): void;
}

export interface SyncReceiverOptions {
  readonly store: Store;
  readonly roster: Roster;
  readonly verifier: Verifier;
  readonly policy: MessagePolicy & {
    /** Peers may send on behalf of any agent (SVC_FED_TRUST_BODY_AGENT_ID). */
    readonly trustBodyAgentId: boolean;
  };
  /** True for a peer id that the operator lists, enrolled or not. */
  readonly isListed: (peerId: string) => boolean;
  readonly peerId: string;
  /** This node's key; null when it has none, and then it signs no heads. */
  readonly signer: Signer | null;
  readonly pageSizeMax: number;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly log: Log;
  readonly metrics: ReceiverMetrics;
  /** Looks for secrets in what peers pass on. */
  readonly screen: Pick<PeerScreen, 'passed'>;
  /** Serves senders without operations; null refuses them. */
  readonly legacy: { readonly push: LegacyPush; readonly since: LegacySince } | null;
  /**
   * An authenticated peer has called. `have`: its cursor, where that says what it has. `reads`: its cursor, where it only
   * reads from there.
   */
  readonly onContact?: (peerId: string, have: Have | null, reads: Have | null) => void;
  /** A peer asked for differences, and there is one. */
  readonly onDiffering?: (peerId: string) => void;
  /** The default: the commands of this release that a home decides. */
  readonly commands?: Chain['commands'] | undefined;
  /** Most nonces remembered of one peer. */
  readonly noncesMax?: number;
}

type Handler = (message: ReceivedMessage, authenticated: Authenticated) => Promise<Result<object>>;

/** Answers the messages of peers: `POST /sync/push` and `GET /sync/since` (interface §4.10, §5.2). */
export class SyncReceiver {
  readonly #options: SyncReceiverOptions;
  readonly #gate: MessageGate;
  readonly #pushParts: PushParts;
  /** Peers that were warned of for bad chains. */
  readonly #warned = new Set<string>();
  readonly #handlers: Readonly<Record<string, Handler>> = {
    [`POST ${PUSH_PATH}`]: (message, authenticated) => this.#push(message, authenticated),
    [`GET ${SINCE_PATH}`]: (message, authenticated) => this.#since(message, authenticated),
    [`POST ${PULL_PATH}`]: (message, authenticated) => this.#pull(message, authenticated),
    [`POST ${RANGES_PATH}`]: (message, authenticated) => this.#ranges(message, authenticated),
    [`POST ${COMMANDS_PATH}`]: (message, authenticated) => this.#forwarded(message, authenticated),
  };

  constructor(options: SyncReceiverOptions) {
    const { roster } = options;
    this.#options = options;
    const senders: Senders = {
      find: (id) => roster.find(id),
      isListed: options.isListed,
      holderOf: (fingerprint) =>
        roster.peers().find((peer) => peer.fingerprints.includes(fingerprint))?.peerId ?? null,
    };
    this.#gate = new MessageGate({ ...options, senders });
    this.#pushParts = { ...options, gate: this.#gate, legacy: options.legacy?.push ?? null };
  }

  /** Answers a message; rejects only for bugs of the store. */
  async handle(message: ReceivedMessage): Promise<PeerReply> {
    const answered = await this.#answer(message);
    if (answered.ok) return answer(answered.value);
    const { error } = answered;
    this.#options.metrics.messageRefused(error.code);
    this.#options.log.debug({ code: error.code, path: message.path }, 'a message of a peer is refused');
    return refuse(error);
  }

  /** Authenticates a signed message that is neither push nor pull, and uses up its nonce; `at` in its query dates it. */
  async admit(message: ReceivedMessage): Promise<Result<Peer>> {
    const admitted = await this.#admit(message);
    if (!admitted.ok) this.#options.metrics.messageRefused(admitted.error.code);
    return admitted;
  }

  async #admit(message: ReceivedMessage): Promise<Result<Peer>> {
    const authenticated = await this.#gate.admit(message);
    if (!authenticated.ok) return failed(authenticated.error);
    const query = parseQuery(message.query);
    if (!query.ok) return failed(query.error);
    // The signature of a POST does not cover its query. The only such message tells a roster, which all members have.
    const dated =
      message.method === 'POST'
        ? ok(authenticated.value)
        : this.#dated(authenticated.value, saidIn(query.value), 'at');
    if (!dated.ok) return failed(dated.error);
    const used = await this.#gate.use(dated.value.nonce);
    return used.ok ? ok(authenticated.value.peer) : failed(used.error);
  }

  /** Checks whom a message is for, and when it was sent. */
  #dated(authenticated: Authenticated, { receiver, sentAt }: Said, field: string): Result<Authenticated> {
    const problem = this.#gate.receiverProblem(authenticated, receiver);
    return problem === null ? this.#gate.date(authenticated, sentAt, field) : failed(problem);
  }

  async #answer(message: ReceivedMessage): Promise<Result<object>> {
    const handler = this.#handlers[`${message.method} ${message.path}`];
    if (handler === undefined) return fail('ROUTE_NOT_FOUND', 'this node has no such route');
    const authenticated = await this.#gate.admit(message);
    return authenticated.ok ? handler(message, authenticated.value) : failed(authenticated.error);
  }

  async #push(message: ReceivedMessage, authenticated: Authenticated): Promise<Result<object>> {
    const { pageSizeMax } = this.#options;
    const { body } = message;
    const json = parseJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    if (!json.ok) return failed(json.error);
    const read = parsePush(json.value);
    if (!read.ok) return failed(read.error);
    const push = read.value;
    const mismatch = this.#senderProblem(push, authenticated);
    if (mismatch !== null) return failed(mismatch);
    const sized = pushProblem(push, pageSizeMax);
    if (!sized.ok) return failed(sized.error);
    const dated = this.#dated(authenticated, push, 'sender_wall_clock');
    if (!dated.ok) return failed(dated.error);
    const answered = await handlePush(this.#pushParts, push, dated.value);
    if (answered.ok) {
      this.#count(answered.value, authenticated.peer.peerId);
      this.#options.onContact?.(authenticated.peer.peerId, null, null);
    }
    return answered;
  }

  async #ranges({ body }: ReceivedMessage, authenticated: Authenticated): Promise<Result<object>> {
    const json = parseJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    if (!json.ok) return failed(json.error);
    const asked = parseRanges(json.value);
    if (!asked.ok) return failed(asked.error);
    const dated = this.#dated(authenticated, asked.value, 'sender_wall_clock');
    if (!dated.ok) return failed(dated.error);
    const used = await this.#gate.use(dated.value.nonce);
    if (!used.ok) return failed(used.error);
    const answered = await handleRanges(this.#options, authenticated.peer, asked.value.ask);
    if (answered.ok) {
      const { differing = [] } = answered.value as { differing?: readonly string[] };
      this.#options.onContact?.(authenticated.peer.peerId, null, null);
      if (differing.length > 0) this.#options.onDiffering?.(authenticated.peer.peerId);
    }
    return answered;
  }

  /**
   * Decides a command that another node passes on, as the home of its subject. Peers with a scope may not pass commands
   * on.
   */
  async #forwarded({ body }: ReceivedMessage, authenticated: Authenticated): Promise<Result<object>> {
    const { store, clock, screen, commands = CHAIN.commands } = this.#options;
    if (authenticated.peer.allowedNamespaces !== null || authenticated.peer.pullDenied === true) {
      return fail('FORBIDDEN', 'a peer with a scope cannot pass requests on');
    }
    const json = parseJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    if (!json.ok) return failed(json.error);
    const read = parseForwarded(json.value);
    if (!read.ok) return failed(read.error);
    const dated = this.#dated(authenticated, read.value, 'sender_wall_clock');
    if (!dated.ok) return failed(dated.error);
    const used = await this.#gate.use(dated.value.nonce);
    if (!used.ok) return failed(used.error);
    const { command: sent } = read.value;
    const command = commands.readForwarded(sent) as Command | null;
    if (command === null) return fail('VALIDATION_FAILED', 'a home does not decide commands of this kind');
    const passed = await screen.passed(authenticated.peer.peerId, command.kind, sent);
    const decided = passed.ok ? await store.execute(command) : passed;
    this.#options.onContact?.(authenticated.peer.peerId, null, null);
    const outcome = decided.ok ? { ok: true, value: decided.value } : decided;
    return ok({ outcome, wall_clock: instantFromMs(clock.nowMs()) });
  }

  #senderProblem({ sender }: Push, { peer }: Authenticated): Failure | null {
    const { trustBodyAgentId } = this.#options.policy;
    if (trustBodyAgentId || sender === peer.peerId || peer.allowedSenderAgentIds.includes(sender))
      return null;
    return tagged('sender_agent_id_mismatch', {
      claimed: sender,
      peer_header: peer.peerId,
      note: 'sender_agent_id must be the peer of X-Peer-Id, or an agent that its scope lists',
    });
  }

  #count({ applied, noop, refused, parked }: PushAnswer, peerId: string): void {
    const { metrics, log } = this.#options;
    const broken = refused.find(({ reason }) => reason === 'bad_chain');
    if (broken !== undefined && !this.#warned.has(peerId)) {
      this.#warned.add(peerId);
      const { origin, seq } = broken;
      log.warn({ peer: peerId, origin, seq }, 'a peer pushed operations with a bad origin or chain');
    }
    if (applied > 0) metrics.operationsReceived('applied', applied);
    if (noop > 0) metrics.operationsReceived('noop', noop);
    for (const { reason } of [...refused, ...parked]) metrics.operationsReceived(reason, 1);
  }

  async #since({ query: text }: ReceivedMessage, authenticated: Authenticated): Promise<Result<object>> {
    const query = parseQuery(text);
    if (!query.ok) return failed(query.error);
    const limit = limitOf(query.value.get('limit'));
    if (!limit.ok) return failed(limit.error);
    const dated = this.#dated(authenticated, saidIn(query.value), 'at');
    if (!dated.ok) return failed(dated.error);
    const cursor = query.value.get('cursor');
    if (cursor === undefined) return this.#oldPage(dated.value, query.value.get('since') ?? '', limit.value);
    const have = cursor === '' ? {} : decodeCursor(cursor);
    if (have === null)
      return fail(
        'VALIDATION_FAILED',
        'cursor is not a cursor of this service: use the one of the last answer',
        { fields: ['cursor'] },
      );
    return this.#page(dated.value, {
      have,
      limit: limit.value,
      origins: query.value.get('origins')?.split(',') ?? null,
      place: query.value.get('place') === '1',
      stubs: query.value.get('stubs') === '1',
    });
  }

  async #pull({ body }: ReceivedMessage, authenticated: Authenticated): Promise<Result<object>> {
    const json = parseJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    if (!json.ok) return failed(json.error);
    const asked = parsePull(json.value);
    if (!asked.ok) return failed(asked.error);
    const dated = this.#dated(authenticated, asked.value, 'sender_wall_clock');
    if (!dated.ok) return failed(dated.error);
    const { question } = asked.value;
    return this.#page(dated.value, { ...question, limit: Math.min(question.limit, SYNC_SINCE_LIMIT_MAX) });
  }

  async #page({ peer, nonce }: Authenticated, question: PullQuestion): Promise<Result<object>> {
    // The answer leaves only after the nonce is used up for good, but reading need not wait for that.
    const [answered, used] = await Promise.all([
      handlePull(this.#options, peer, question),
      this.#gate.use(nonce),
    ]);
    if (!used.ok) return failed(used.error);
    const { have, place, limit } = question;
    if (answered.ok) this.#options.onContact?.(peer.peerId, place ? null : have, limit > 1 ? have : null);
    return answered;
  }

  /** A page for a release without cursors. */
  async #oldPage({ peer, nonce }: Authenticated, since: string, limit: number): Promise<Result<object>> {
    const { legacy } = this.#options;
    const used = await this.#gate.use(nonce);
    if (!used.ok) return failed(used.error);
    if (legacy === null) return fail('UNAVAILABLE', 'this node only answers pulls with a cursor');
    return legacy.since.page(peer, since, limit);
  }
}

/** What a message says of itself under its signature. */
interface Said {
  readonly receiver: string | undefined;
  readonly sentAt: string | undefined;
}

const saidIn = (query: ReadonlyMap<string, string>): Said => ({
  receiver: query.get('to'),
  sentAt: query.get('at'),
});

/** A larger limit means the largest allowed (interface §8). */
function limitOf(text: string | undefined): Result<number> {
  if (text === undefined || text === '') return ok(SYNC_SINCE_LIMIT);
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) {
    return fail('VALIDATION_FAILED', 'limit must be a number above 0', { fields: ['limit'] });
  }
  return ok(Math.min(Number(text), SYNC_SINCE_LIMIT_MAX));
}
