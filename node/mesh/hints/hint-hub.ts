import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { type BackoffPolicy, backoffDelayMs } from '../../../actors/core/backoff.js';
import type { Mesh } from '../../../actors/mesh/mesh.js';
import type { PeerNews } from '../../../actors/mesh/parts.js';
import { HINT_BYTES_MAX } from '../../../protocol/base/limits.js';
import type { Clock, Log, Random, Scheduler, Signer, Timer } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import type { Peer, Roster } from '../../../protocol/peers/peer.js';
import { HINTS_PATH } from '../../../protocol/wire/hint.js';
import { signMessage } from '../../../protocol/wire/message-signing.js';
import { API_PREFIX } from '../../bindings/api-prefix.js';
import type { UndiciTransport } from '../undici-transport.js';
import { HintLine } from './hint-line.js';

export interface HintHubParts {
  readonly peerId: string;
  readonly signer: Signer;
  readonly roster: Roster;
  readonly transport: Pick<UndiciTransport, 'open' | 'headersFor'>;
  /** Says when and what peers lack, and pulls from those that have, or may have, new operations. */
  readonly mesh: Pick<Mesh, 'onGrown' | 'news' | 'hint'>;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
}

interface Dial {
  failures: number;
  timer: Timer | null;
  socket: WebSocket | null;
}

const REDIAL: BackoffPolicy = { initialMs: 500, maxMs: 30_000, jitter: 0.5, stableMs: 0 };
/** A line that ended sooner than this counts as a failure. */
const STABLE_MS = 10_000;
const HANDSHAKE_MS = 5000;
const BEAT_MS = 30_000;
/** Shortest time between two hints to one peer. */
const HINT_PAUSE_MS = 20;
/** Shortest time between two pulls from a peer that hints. */
const PULL_PAUSE_MS = 50;

/**
 * The WebSockets for hints, one to each peer, opened by the node that can call the other. When both called, the line
 * stays that the node with the smaller peer id opened. They are signed like every message, over the listener for peers.
 * Losing a line only costs time.
 */
export class HintHub {
  readonly #parts: HintHubParts;
  /** Takes the calls of peers; made with the first one, because its library loads slowly. */
  #server: WebSocketServer | null = null;
  readonly #lines = new Map<string, Set<HintLine>>();
  readonly #dials = new Map<string, Dial>();
  readonly #due = new Map<string, Timer>();
  /** Peers that were just asked, and those of them that hinted since then. */
  readonly #pulled = new Map<string, Timer>();
  readonly #again = new Set<string>();
  #unsubscribe: readonly (() => void)[] = [];
  #beat: Timer | null = null;
  #state: 'made' | 'running' | 'stopped' = 'made';

  constructor(parts: HintHubParts) {
    this.#parts = parts;
  }

  /** Calls the peers, and takes their calls from now on. */
  start(): void {
    if (this.#state !== 'made') return;
    this.#state = 'running';
    const { roster, mesh } = this.#parts;
    this.#unsubscribe = [roster.onChange(() => this.#follow()), mesh.onGrown(() => this.#grown())];
    this.#follow();
    this.#beatLater();
  }

  /** False before its start and after its end: it takes no calls then. */
  get running(): boolean {
    return this.#state === 'running';
  }

  /** Peers with a line. */
  get connected(): readonly string[] {
    return [...this.#lines.keys()];
  }

  /** Takes over the connection of an authenticated peer. */
  accept(peerId: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.running) {
      socket.destroy();
      return;
    }
    this.#server ??= new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: HINT_BYTES_MAX,
    });
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      // The same peer called a second time: its first line is dead, even if this node has not noticed.
      for (const line of this.#lines.get(peerId) ?? []) if (!line.dialled) line.cut();
      this.#add(opened, peerId, false);
    });
  }

  stop(): void {
    this.#state = 'stopped';
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#beat?.cancel();
    for (const timer of [...this.#due.values(), ...this.#pulled.values()]) timer.cancel();
    for (const { timer, socket } of this.#dials.values()) {
      timer?.cancel();
      socket?.terminate();
    }
    for (const line of this.#all()) line.cut();
  }

  #grown(): void {
    for (const peerId of this.#lines.keys()) this.#tellSoon(peerId);
  }

  #all(): HintLine[] {
    return [...this.#lines.values()].flatMap((lines) => [...lines]);
  }

  #follow(): void {
    if (!this.running) return;
    const members = this.#parts.roster.peers().filter(({ state }) => state === 'member');
    const ids = new Set(members.map(({ peerId }) => peerId));
    for (const line of this.#all()) if (!ids.has(line.peerId)) line.cut();
    for (const { peerId, url } of members) {
      if (url === null || this.#dials.has(peerId)) continue;
      this.#dials.set(peerId, { failures: 0, timer: null, socket: null });
      this.#dial(peerId);
    }
  }

  #dial(peerId: string): void {
    const dial = this.#dials.get(peerId);
    const peer = this.#parts.roster.find(peerId);
    if (dial === undefined || !this.running) return;
    if (peer === null || peer.state !== 'member' || peer.url === null) {
      this.#dials.delete(peerId);
      return;
    }
    // A peer that called need not be called.
    if (this.#lines.has(peerId)) return;
    const { clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    let opened = false;
    const socket = this.#connect(peer as Peer & { url: string });
    dial.socket = socket;
    socket.on('error', (error) => {
      this.#parts.log.debug(
        { peer: peerId, reason: error.message },
        'the line for hints to a peer could not be opened',
      );
    });
    socket.once('open', () => {
      opened = true;
      this.#add(socket, peerId, true);
      // While there was no line, hints were lost.
      this.#askSoon(peerId);
    });
    socket.once('close', () => {
      dial.socket = null;
      const lived = opened && clock.monotonicMs() - startedMs >= STABLE_MS;
      dial.failures = lived ? 0 : dial.failures + 1;
      this.#redialLater(peerId, dial);
    });
  }

  #redialLater(peerId: string, dial: Dial): void {
    if (!this.running) return;
    dial.timer?.cancel();
    const waitMs = backoffDelayMs(REDIAL, Math.max(0, dial.failures - 1), this.#parts.random.unit());
    dial.timer = this.#parts.scheduler.after(waitMs, () => this.#dial(peerId));
  }

  #connect(peer: Peer & { readonly url: string }): WebSocket {
    const { peerId, signer, random, clock, transport } = this.#parts;
    const path = `${API_PREFIX}${HINTS_PATH}`;
    const to = encodeURIComponent(peer.peerId);
    const query = `to=${to}&at=${encodeURIComponent(instantFromMs(clock.nowMs()))}`;
    const signed = signMessage({ method: 'GET', path, query, body: null, peerId, signer, random });
    return new WebSocket(`${peer.url.replace(/^http/, 'ws')}${path}?${query}`, {
      headers: { ...transport.headersFor(peer), ...signed },
      perMessageDeflate: false,
      maxPayload: HINT_BYTES_MAX,
      handshakeTimeout: HANDSHAKE_MS,
      followRedirects: false,
      // The connection is made and verified as for every message, and handed over when it is trusted.
      createConnection: ((_options: unknown, done: (error: Error | null, socket?: Duplex) => void) => {
        transport.open(peer, (error, socket) => (error === null ? done(null, socket!) : done(error)));
      }) as never,
    });
  }

  #add(socket: WebSocket, peerId: string, dialled: boolean): void {
    const line = new HintLine(socket, {
      peerId,
      dialled,
      hinted: () => this.#askSoon(peerId),
      closed: (closed) => this.#remove(closed),
    });
    const lines = this.#lines.get(peerId) ?? new Set();
    lines.add(line);
    this.#lines.set(peerId, lines);
    if (lines.size > 1 && this.#parts.peerId > peerId)
      for (const each of lines) if (each.dialled) each.close();
    this.#tellSoon(peerId);
  }

  #remove(line: HintLine): void {
    const lines = this.#lines.get(line.peerId);
    lines?.delete(line);
    if (lines === undefined || lines.size > 0) return;
    this.#lines.delete(line.peerId);
    // Asking soon shows sooner that the peer is away.
    this.#askSoon(line.peerId);
    const dial = this.#dials.get(line.peerId);
    if (dial !== undefined && dial.socket === null) this.#redialLater(line.peerId, dial);
  }

  #tellSoon(peerId: string): void {
    if (this.#due.has(peerId) || !this.running) return;
    const news = this.#parts.mesh.news(peerId);
    if (news === null) return;
    // A push that is on its way, or being gathered, makes a hint unnecessary, unless the push takes longer.
    const waitMs = news.pushedWithinMs ?? HINT_PAUSE_MS;
    this.#due.set(
      peerId,
      this.#parts.scheduler.after(waitMs, () => this.#tell(peerId, news)),
    );
    // A peer to which no push is on its way gets a hint at once.
    if (news.pushedWithinMs === null) this.#say(peerId, news);
  }

  /**
   * Hints at the newest operation. A hint that was sent at once is repeated at most once when the peer has not pulled.
   */
  #tell(peerId: string, before: PeerNews): void {
    this.#due.delete(peerId);
    const news = this.#parts.mesh.news(peerId);
    if (news === null) return;
    // When pushes make progress, a hint is unnecessary: the peer would pull operations that are on their way.
    const getsOn = news.pushedWithinMs !== null && news.origin === before.origin && news.acked > before.acked;
    if (getsOn) this.#tellSoon(peerId);
    else this.#say(peerId, news);
  }

  #say(peerId: string, { origin, seq }: PeerNews): void {
    const [line] = this.#lines.get(peerId) ?? [];
    line?.say({ origin, seq });
  }

  #askSoon(peerId: string): void {
    if (!this.running) return;
    if (this.#pulled.has(peerId)) {
      // The peer hinted during the pause: it is asked once more at its end.
      this.#again.add(peerId);
      return;
    }
    this.#parts.mesh.hint(peerId);
    this.#pulled.set(
      peerId,
      this.#parts.scheduler.after(PULL_PAUSE_MS, () => {
        this.#pulled.delete(peerId);
        if (this.#again.delete(peerId)) this.#askSoon(peerId);
      }),
    );
  }

  #beatLater(): void {
    this.#beat = this.#parts.scheduler.after(BEAT_MS, () => {
      for (const line of this.#all()) line.beat();
      this.#beatLater();
    });
  }
}
