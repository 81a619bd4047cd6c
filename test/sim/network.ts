import { PEER_RESPONSE_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type {
  PeerReply,
  PeerRequest,
  PeerTransport,
  ReceivedMessage,
} from '../../protocol/wire/transport.js';
import type { Dice } from './dice.js';
import type { World } from './world.js';

/** What a node answers to a message. */
export interface Response {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Who takes messages at a place; answers nothing when it dies meanwhile. */
export type Receiver = (message: ReceivedMessage) => Promise<Response>;

/** How bad the network is; faults change it. */
export interface Weather {
  /** Chance that a request, or an answer, is lost. */
  loss: number;
  lostAnswers: number;
  /** Chance that a request arrives twice, at once or long after. */
  duplicates: number;
  replays: number;
  delayMinMs: number;
  delayMaxMs: number;
  /** Chance of a message that takes `slowMs` instead. */
  slow: number;
  slowMs: number;
}

export const FAIR: Readonly<Weather> = {
  loss: 0,
  lostAnswers: 0,
  duplicates: 0,
  replays: 0,
  delayMinMs: 0.5,
  delayMaxMs: 8,
  slow: 0,
  slowMs: 0,
};

/** What went over a link, for the checks. */
export interface Delivery {
  readonly from: string;
  readonly to: string;
  readonly request: PeerRequest;
  readonly response: Response;
}

/** Longest time after which a copy of a message comes once more. */
const REPLAY_MAX_MS = 40_000;
/** A first arrival has an effect, and the mesh needs time to spread it before the end. */
const REPLAY_AFTER_CALM_MS = 9_000;

/** The network of a world: messages between nodes, each with its own fate. */
export class SimNetwork {
  readonly weather: Weather = { ...FAIR };
  private calmMs = Number.POSITIVE_INFINITY;
  delivered = 0;
  /** Told of every answer that a receiver gave, before its way back. */
  onDelivery: (delivery: Delivery) => void = () => undefined;
  private readonly receivers = new Map<string, Receiver>();
  /** Places by peer id. */
  private readonly places = new Map<string, string>();
  /** Directed links that carry nothing. */
  private readonly cuts = new Set<string>();
  /** Directed links that carry nothing until a time. */
  private readonly clogs = new Map<string, number>();
  private readonly dice: Dice;

  constructor(private readonly world: World) {
    this.dice = world.dice('network');
  }

  /** Messages to a peer go to this place. */
  enroll(peerId: string, place: string): void {
    this.places.set(peerId, place);
  }

  /** A node listens; null when it is down. */
  listen(place: string, receiver: Receiver | null): void {
    if (receiver === null) this.receivers.delete(place);
    else this.receivers.set(place, receiver);
  }

  /** Nothing goes from one to the other any more. */
  cut(from: string, to: string): void {
    this.cuts.add(`${from} ${to}`);
  }

  /** Everything from one to the other waits. */
  clog(from: string, to: string, forMs: number): void {
    this.clogs.set(`${from} ${to}`, this.world.nowMs + forMs);
  }

  mend(): void {
    this.cuts.clear();
    this.clogs.clear();
  }

  calm(): void {
    this.calmMs = this.world.nowMs;
    this.mend();
    Object.assign(this.weather, FAIR);
  }

  /** The transport of one run of a node; `alive` is false once the run has ended. */
  transport(from: string, alive: () => boolean): PeerTransport {
    return {
      send: (peer, request, timeoutMs) =>
        new Promise((resolve) => {
          if (!alive()) return;
          this.send(from, peer, request, timeoutMs, (reply) => {
            if (alive()) resolve(reply);
          });
        }),
    };
  }

  private send(
    from: string,
    peer: Peer,
    request: PeerRequest,
    timeoutMs: number,
    answer: (reply: PeerReply) => void,
  ): void {
    const { world, dice, weather } = this;
    if (peer.url === null) {
      answer({ kind: 'unreachable', message: `${peer.peerId} has no address` });
      return;
    }
    const to = this.places.get(peer.peerId) ?? peer.peerId;
    let settled = false;
    const finish = (reply: PeerReply) => {
      if (settled) return;
      settled = true;
      timeout.cancelled = true;
      answer(reply);
    };
    const timeout = world.after(timeoutMs, from, 'timeout', () => {
      finish({ kind: 'timeout', message: 'no answer in time' });
    });
    if (dice.chance(weather.loss)) return;
    const arrive = () => this.arrive(from, to, request, finish);
    world.after(this.delayMs(from, to), to, 'arrive', arrive);
    if (dice.chance(weather.duplicates)) {
      world.after(this.delayMs(from, to), to, 'arrive-twice', arrive);
    }
    if (dice.chance(weather.replays)) {
      world.after(dice.between(0, REPLAY_MAX_MS), to, 'replay', () => {
        if (world.nowMs < this.calmMs + REPLAY_AFTER_CALM_MS) arrive();
      });
    }
  }

  private arrive(from: string, to: string, request: PeerRequest, finish: (reply: PeerReply) => void): void {
    const { world, dice, weather } = this;
    if (this.cuts.has(`${from} ${to}`)) return;
    const receiver = this.receivers.get(to);
    if (receiver === undefined) {
      world.after(this.delayMs(to, from), from, 'refused', () => {
        finish({ kind: 'unreachable', message: 'connection refused' });
      });
      return;
    }
    this.delivered += 1;
    const message: ReceivedMessage = {
      method: request.method,
      path: request.path,
      query: request.query,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      body: request.body ?? new Uint8Array(0),
      fingerprint: null,
    };
    receiver(message).then(
      (response) => {
        const said = Buffer.from(response.body).toString('utf8', 0, 400);
        world.note(to, `answers ${response.status} ${request.method} of ${from}: ${said}`);
        this.onDelivery({ from, to, request, response });
        if (this.cuts.has(`${to} ${from}`) || dice.chance(weather.lostAnswers)) return;
        world.after(this.delayMs(to, from), from, `answer ${response.status}`, () => {
          if (response.body.length > PEER_RESPONSE_BYTES_MAX) {
            finish({ kind: 'unreachable', message: 'the answer is too large' });
          } else finish({ kind: 'answer', status: response.status, body: response.body });
        });
      },
      (error: unknown) => {
        world.violate(to, 'exception', `a message was answered with an exception: ${text(error)}`);
      },
    );
  }

  private delayMs(from: string, to: string): number {
    const { dice, weather, world } = this;
    const clogged = Math.max(0, (this.clogs.get(`${from} ${to}`) ?? 0) - world.nowMs);
    const slow = dice.chance(weather.slow) ? weather.slowMs : 0;
    return clogged + slow + dice.between(weather.delayMinMs, weather.delayMaxMs);
  }
}

const text = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
