import { ROSTER_EXCHANGE_MS } from '../../protocol/base/limits.js';
import type { Clock, Log, Scheduler, Timer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { PeerReply, PeerRequest, PeerTransport } from '../../protocol/wire/transport.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import { parseJson } from './forming/mesh-folder.js';
import type { MeshState } from './forming/mesh-state.js';
import { MEMBERSHIP_PATH, ROSTER_BODY, ROSTER_PATH } from './mesh-answers.js';
import type { MeshRoster } from './mesh-roster.js';
import { takeStatements } from './mesh-routes.js';

/** The outcome of the last exchange with a peer. */
export interface Contact {
  readonly reachable: boolean;
  readonly lastMs: number | null;
  readonly skewMs: number | null;
  readonly problem: string | null;
}

/** Signs a message of this node; returns its headers. */
export type SignRequest = (request: Omit<PeerRequest, 'headers'>) => Readonly<Record<string, string>>;

export interface ExchangeParts {
  readonly state: MeshState;
  readonly roster: MeshRoster;
  readonly transport: PeerTransport;
  readonly sign: SignRequest;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

const TIMEOUT_MS = 5000;
const NOTHING = new Uint8Array(0);

/**
 * Keeps the rosters of the members equal: after a change with all of them at once, otherwise with one after the other, so
 * that a member that was away or unreachable learns of it soon.
 */
export class RosterExchange {
  readonly #parts: ExchangeParts;
  readonly #contacts = new Map<string, Contact>();
  #timer: Timer | null = null;
  #turn = 0;
  #told = '';
  #stop: () => void = () => undefined;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  start(): void {
    const tell = () => {
      const known = [...(this.#parts.state.formed?.statements.values() ?? [])]
        .map(({ statement }) => `${statement.peer_id} ${statement.serial}`)
        .join('\n');
      if (known === this.#told) return;
      this.#told = known;
      for (const peer of this.#members()) void this.#with(peer);
    };
    this.#stop = this.#parts.state.onChange(tell);
    tell();
    this.#later();
  }

  stop(): void {
    this.#stop();
    this.#timer?.cancel();
    this.#timer = null;
  }

  contactOf(peerId: string): Contact | null {
    return this.#contacts.get(peerId) ?? null;
  }

  /** A member that did not answer has called: it is back. */
  contacted(peerId: string): void {
    const peer = this.#members().find((member) => member.peerId === peerId);
    if (peer !== undefined && this.#contacts.get(peerId)?.reachable !== true) void this.#with(peer);
  }

  #later(): void {
    this.#timer = this.#parts.scheduler.after(ROSTER_EXCHANGE_MS, () => {
      const members = this.#members();
      const next = members[this.#turn % Math.max(1, members.length)];
      this.#turn += 1;
      if (next !== undefined) void this.#with(next);
      if (this.#timer !== null) this.#later();
    });
  }

  #members(): Peer[] {
    const { roster } = this.#parts;
    return roster
      .peers()
      .filter(({ peerId, url, state }) => state === 'member' && url !== null && roster.isStated(peerId));
  }

  async #with(peer: Peer): Promise<void> {
    const { state, transport, sign, clock, log } = this.#parts;
    const formed = state.formed;
    if (formed === null) return;
    const body = new TextEncoder().encode(JSON.stringify({ statements: [...formed.statements.values()] }));
    const unsigned = { method: 'POST', path: `${API_PREFIX}${ROSTER_PATH}`, query: '', body } as const;
    const sentMs = clock.nowMs();
    const reply = await transport.send(peer, { ...unsigned, headers: sign(unsigned) }, TIMEOUT_MS);
    const problem = problemOf(reply);
    const before = this.#contacts.get(peer.peerId);
    if (problem !== null || reply.kind !== 'answer') {
      if (reply.kind === 'answer') await this.#askWhetherRemoved(peer);
      if (before?.problem !== problem)
        // Its connection warns where this lasts.
        log.info({ peer_id: peer.peerId, problem }, 'a member does not answer');
      this.#contacts.set(peer.peerId, {
        reachable: false,
        lastMs: before?.lastMs ?? null,
        skewMs: before?.skewMs ?? null,
        problem,
      });
      return;
    }
    const answer = parseJson(new TextDecoder().decode(reply.body)) as { wall_clock?: unknown } | null;
    const theirs = Date.parse(String(answer?.wall_clock));
    const nowMs = clock.nowMs();
    this.#contacts.set(peer.peerId, {
      reachable: true,
      lastMs: nowMs,
      skewMs: Number.isNaN(theirs) ? null : Math.round(theirs - (sentMs + nowMs) / 2),
      problem: null,
    });
    const parsed = ROSTER_BODY.safeParse(answer);
    if (parsed.success) await takeStatements({ state, log }, parsed.data.statements, peer.peerId);
  }

  /** A member that refuses this node may know that it was removed. */
  async #askWhetherRemoved(peer: Peer): Promise<void> {
    const { state, transport, sign, log } = this.#parts;
    const unsigned = {
      method: 'GET',
      path: `${API_PREFIX}${MEMBERSHIP_PATH}`,
      query: '',
      body: NOTHING,
    } as const;
    const reply = await transport.send(peer, { ...unsigned, headers: sign(unsigned) }, TIMEOUT_MS);
    if (reply.kind !== 'answer' || reply.status !== 200) return;
    const parsed = ROSTER_BODY.safeParse(parseJson(new TextDecoder().decode(reply.body)));
    if (parsed.success) await takeStatements({ state, log }, parsed.data.statements, peer.peerId);
  }
}

function problemOf(reply: PeerReply): string | null {
  if (reply.kind !== 'answer') return `${reply.kind}: ${reply.message}`;
  return reply.status === 200 ? null : `the peer answered ${reply.status}`;
}

/** A contact as the status shows it. */
export const contactFields = (contact: Contact | null) => ({
  reachable: contact?.reachable ?? null,
  last_contact: contact?.lastMs == null ? null : instantFromMs(contact.lastMs),
  skew_ms: contact?.skewMs ?? null,
  problem: contact?.problem ?? null,
});
