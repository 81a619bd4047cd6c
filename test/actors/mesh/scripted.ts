import { type Mesh, openMesh } from '../../../actors/mesh/mesh.js';
import type { MeshEvent, MeshSettings } from '../../../actors/mesh/parts.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Log, Random } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { decodeCursor } from '../../../protocol/log/cursor.js';
import type { Have, VerifiedOperation, WireOperation } from '../../../protocol/log/wire-operation.js';
import type { Peer, Roster } from '../../../protocol/peers/peer.js';
import type {
  ApplyOperations,
  ApplyOutcome,
  RetryParked,
} from '../../../protocol/replication/apply-operations.js';
import type { SavePeerProgress } from '../../../protocol/replication/peer-progress.js';
import type {
  KnownOriginsAnswer,
  PeerProgressAnswer,
  ReadOperationsAnswer,
} from '../../../protocol/replication/queries.js';
import type { PushBody, RefusedOperation } from '../../../protocol/wire/bodies.js';
import type { PeerReply, PeerRequest, PeerTransport } from '../../../protocol/wire/transport.js';
import type { Store } from '../../../storage/port.js';
import { FakeScheduler } from '../fake-scheduler.js';

export const SELF = 'peer-0000000000000000';
export const OWN = `${SELF}/e1`;

const hash = (origin: string, seq: number, salt: string) =>
  `${[...`${origin}#${seq}${salt}`].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 2 ** 40, 7).toString(16)}`.padStart(
    64,
    '0',
  );

/** An operation of a chain; `salt` makes another history of the same origin. */
export function operation(origin: string, seq: number, salt = '', namespace = 'team'): WireOperation {
  return {
    origin,
    seq,
    hlc: `0000000001000-${String(seq).padStart(5, '0')}`,
    kind: 'store',
    namespace,
    subject: `m${seq}`,
    seen: {},
    payloadHash: hash(origin, seq, 'payload'),
    prevHash: hash(origin, seq - 1, salt),
    payload: `{"n":${seq}}`,
  };
}

/** The part of a store that replication uses: an own log and what is had of others. */
export class ScriptedStore implements Store {
  origin = OWN;
  own: WireOperation[] = [];
  have: Record<string, number> = {};
  saved: SavePeerProgress[] = [];
  epochs: string[] = [];
  keeps: (number | null)[] = [];
  reads = 0;
  progress: PeerProgressAnswer = { progress: [], parked: [] };
  /** Commit sequences of operations without effect, and those over which the rules break. */
  parkedAt: number[] = [];
  readonly broken = new Set<number>();
  /** Takes a page of a peer. */
  apply: ((command: ApplyOperations) => Result<ApplyOutcome> | Promise<Result<ApplyOutcome>>) | null = null;

  append(count: number, namespace = 'team', salt = ''): void {
    for (let made = 0; made < count; made += 1)
      this.own.push(operation(this.origin, this.own.length + 1, salt, namespace));
  }

  async execute(command: { readonly kind: string }): Promise<Result<never>> {
    if (command.kind === 'retry-parked') return this.retry(command as RetryParked) as Result<never>;
    if (command.kind === 'apply-operations')
      return (await this.apply!(command as ApplyOperations)) as Result<never>;
    return ok(this.run(command) as never);
  }

  private retry({ after, skip, limit }: RetryParked): Result<{ applied: number; last: number | null }> {
    const offered = this.parkedAt.filter((at) => at > after).slice(skip, skip + limit);
    if (offered.some((at) => this.broken.has(at))) return fail('INTERNAL', 'internal server error');
    this.parkedAt = this.parkedAt.filter((at) => !offered.includes(at));
    return ok({ applied: offered.length, last: offered.at(-1) ?? null });
  }

  async query(query: { readonly kind: string }): Promise<Result<never>> {
    return ok(this.answer(query) as never);
  }

  selfCheck() {
    return Promise.resolve(ok({ problems: [], next: null }));
  }

  async close(): Promise<void> {}

  private run(command: { readonly kind: string }): unknown {
    if (command.kind === 'save-peer-progress') {
      this.saved.push(command as SavePeerProgress);
      return {};
    }
    if (command.kind === 'begin-epoch') {
      const { epoch, keep } = command as unknown as { epoch: string; keep: number | null };
      this.epochs.push(epoch);
      this.keeps.push(keep);
      this.have[this.origin] = this.own.length;
      this.origin = `${SELF}/${epoch}`;
      this.own = [];
      return { origin: this.origin };
    }
    throw new Error(`not scripted: ${command.kind}`);
  }

  private answer(query: { readonly kind: string }): unknown {
    switch (query.kind) {
      case 'log-position': {
        const [peerId, dbEpoch] = this.origin.split('/');
        return { peerId, dbEpoch, commitSequence: 0, originSeq: this.own.length, chainHead: '' };
      }
      case 'known-origins': {
        const all = { ...this.have, [this.origin]: this.own.length };
        const heads = Object.fromEntries(
          Object.entries(all).map(([origin, seq]) => [origin, { seq, hash: hash(origin, seq, '') }]),
        );
        return {
          self: this.origin,
          commitSequence: 0,
          hlc: '',
          heads,
          stamps: {},
        } satisfies KnownOriginsAnswer;
      }
      case 'read-operations': {
        this.reads += 1;
        const { have, limit } = query as unknown as { have: Have; limit: number };
        const from = have[this.origin] ?? 0;
        const operations = this.own.slice(from, from + limit);
        const last = operations.at(-1);
        return {
          operations,
          heads: [],
          more: from + limit < this.own.length,
          lacking: [],
          ends:
            last === undefined
              ? {}
              : { [this.origin]: { seq: last.seq, hash: hash(this.origin, last.seq, '') } },
        } satisfies ReadOperationsAnswer;
      }
      case 'list-peer-progress':
        return this.progress;
      default:
        throw new Error(`not scripted: ${query.kind}`);
    }
  }
}

/** A peer as the transport meets it: takes what follows, and does what a test tells it to. */
export class ScriptedPeer {
  has: Record<string, number>;
  /** What it has to give, beyond what it says to have of the asker's. */
  offers: WireOperation[] = [];
  pushes: PushBody[] = [];
  /** Raw bodies, to see who got the same bytes. */
  bodies: Uint8Array[] = [];
  pulls: Have[] = [];
  origins: (string | null)[] = [];
  /** Whether the cursor of each pull was a place to read from and no more. */
  places: boolean[] = [];
  /** Operations of a page at most. */
  pageMax = Number.POSITIVE_INFINITY;
  parks = new Map<number, string>();
  refuses: RefusedOperation['reason'] | null = null;
  /** Answers instead of the peer, while it is set. */
  instead: ((request: PeerRequest) => PeerReply | Promise<PeerReply | null> | null) | null = null;
  version: string | undefined = '1.0.0';
  clockMs = 0;
  more = false;

  constructor(
    readonly peerId: string,
    private readonly scheduler: FakeScheduler,
  ) {
    this.has = { [`${peerId}/e1`]: 0 };
  }

  async answer(request: PeerRequest): Promise<PeerReply> {
    if (request.method === 'POST') this.bodies.push(request.body!);
    else {
      const query = new URLSearchParams(request.query);
      this.pulls.push(decodeCursor(query.get('cursor')!)!);
      this.origins.push(query.get('origins'));
      this.places.push(query.get('place') === '1');
    }
    const other = this.instead === null ? null : await this.instead(request);
    if (other !== null) return other;
    return json(request.method === 'POST' ? this.take(request.body!) : this.give());
  }

  private take(body: Uint8Array): object {
    const push = JSON.parse(new TextDecoder().decode(body)) as PushBody;
    this.pushes.push(push);
    const refused: RefusedOperation[] = [];
    const parked: { op_id: string; reason: string }[] = [];
    const have: Record<string, number> = {};
    let applied = 0;
    for (const { origin, seq } of push.operations) {
      const at = this.has[origin] ?? 0;
      if (this.refuses !== null) refused.push({ origin, seq, reason: this.refuses });
      else if (seq > at + 1) refused.push({ origin, seq, reason: 'gap' });
      else {
        if (seq === at + 1) applied += 1;
        this.has[origin] = Math.max(at, seq);
        const reason = this.parks.get(seq);
        if (reason !== undefined) parked.push({ op_id: `${origin}/${seq}`, reason });
      }
      have[origin] = this.has[origin] ?? 0;
    }
    return { applied, noop: push.operations.length - applied, have, refused, parked, ...this.common() };
  }

  private give(): object {
    const cursor = this.pulls.at(-1)!;
    const only = this.origins.at(-1)?.split(',') ?? null;
    const wanted = this.offers.filter(
      ({ origin, seq }) => seq > (cursor[origin] ?? 0) && (only === null || only.includes(origin)),
    );
    const operations = wanted.slice(0, this.pageMax);
    return {
      operations,
      heads: [],
      more: this.more || wanted.length > operations.length,
      have: this.has,
      root: 'r',
      next_cursor: '',
      ...this.common(),
    };
  }

  private common(): object {
    const at = instantFromMs(this.scheduler.nowMs() + this.clockMs);
    return { wall_clock: at, version: this.version };
  }
}

export const json = (value: object, status = 200): PeerReply => ({
  kind: 'answer',
  status,
  body: new TextEncoder().encode(JSON.stringify(value)),
});

/** A roster that a test changes. */
export class ScriptedRoster implements Roster {
  private readonly listeners = new Set<() => void>();

  constructor(private members: Peer[]) {}

  peers(): readonly Peer[] {
    return this.members;
  }

  find(peerId: string): Peer | null {
    return this.members.find((each) => each.peerId === peerId) ?? null;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  set(members: Peer[]): void {
    this.members = members;
    for (const listener of this.listeners) listener();
  }
}

export const member = (peerId: string, more: Partial<Peer> = {}): Peer => ({
  peerId,
  url: `https://${peerId}`,
  publicKey: new Uint8Array(32),
  fingerprints: [],
  allowedNamespaces: null,
  allowedSenderAgentIds: [],
  state: 'member',
  ...more,
});

export const quietLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** As a page whose chain, head and authors hold. */
const verified = (operations: readonly WireOperation[]): VerifiedOperation[] =>
  operations.map((each) => ({ ...each, hash: '', refusal: null, scope: null }));

/** Chance that is none. */
export function scriptedRandom(): Random {
  let drawn = 0;
  return {
    uuid: () => {
      drawn += 1;
      return `00000000-0000-4000-8000-${String(drawn).padStart(12, '0')}`;
    },
    bytes: (count) => new Uint8Array(count),
    unit: () => 0.5,
  };
}

/** One node with scripted peers around it. */
export class Stage {
  readonly scheduler = new FakeScheduler(1_700_000_000_000);
  readonly store = new ScriptedStore();
  readonly peers: ScriptedPeer[];
  readonly roster: ScriptedRoster;
  readonly events: MeshEvent[] = [];
  /** The sequences of every page that was verified. */
  readonly verifiedPages: number[][] = [];
  applied: ApplyOperations[] = [];
  applies: ((page: ApplyOperations) => Result<ApplyOutcome> | Promise<Result<ApplyOutcome>>) | null = null;
  mesh!: Mesh;

  constructor(count: number, member_: (peerId: string) => Partial<Peer> = () => ({})) {
    this.peers = Array.from(
      { length: count },
      (_, index) => new ScriptedPeer(`peer-${String(index + 1).repeat(16)}`, this.scheduler),
    );
    this.roster = new ScriptedRoster(this.peers.map(({ peerId }) => member(peerId, member_(peerId))));
  }

  /** Starts replication and lets it meet its peers. */
  async start(settings: Partial<MeshSettings> = {}): Promise<this> {
    this.open(settings);
    this.mesh.start();
    await this.scheduler.advance(0);
    return this;
  }

  /** Makes replication, which does not run yet. */
  open(settings: Partial<MeshSettings> = {}): this {
    const transport: PeerTransport = {
      send: (peer, request) => this.peers.find(({ peerId }) => peerId === peer.peerId)!.answer(request),
    };
    this.store.apply = (command) => this.apply(command);
    this.mesh = openMesh({
      self: { peerId: SELF, signer: { publicKey: new Uint8Array(32), sign: () => new Uint8Array(64) } },
      store: this.store,
      roster: this.roster,
      transport,
      verifier: {
        page: ({ operations, heads }) => {
          this.verifiedPages.push(operations.map(({ seq }) => seq));
          return { operations: verified(operations), heads, refused: [], unreadable: 0 };
        },
        ready: () => Promise.resolve(),
        singles: (operations) => verified(operations),
      },
      settings: {
        quorumWrites: 2,
        quorumTimeoutMs: 2000,
        catchupIntervalMs: 30_000,
        pushBatchMax: 2048,
        logPollMs: 25,
        entropyIntervalMs: 0,
        ...settings,
      },
      clock: this.scheduler,
      scheduler: this.scheduler,
      random: scriptedRandom(),
      log: quietLog,
      policy: {
        restartsMax: 5,
        windowMs: 60_000,
        backoff: { initialMs: 100, maxMs: 1000, jitter: 0, stableMs: 1000 },
        whenSpent: { kind: 'degrade', backoff: { initialMs: 1000, maxMs: 1000, jitter: 0, stableMs: 1000 } },
      },
      onEvent: (event) => void this.events.push(event),
    });
    return this;
  }

  /** A local write: the log grows and its call waits for the quorum. */
  write(count = 1) {
    const from = this.store.own.length + 1;
    this.store.append(count);
    return this.mesh.replicated(
      this.store.origin,
      from,
      this.store.own.length,
      this.scheduler.monotonicMs() + 2000,
    );
  }

  status(index = 0) {
    return this.mesh.status().peers[index]!;
  }

  private apply(page: ApplyOperations): Result<ApplyOutcome> | Promise<Result<ApplyOutcome>> {
    this.applied.push(page);
    if (this.applies !== null) return this.applies(page);
    const have: Record<string, number> = {};
    for (const { origin, seq } of page.operations) {
      this.store.have[origin] = Math.max(this.store.have[origin] ?? 0, seq);
      have[origin] = this.store.have[origin]!;
    }
    return ok({ applied: page.operations.length, noop: 0, changed: [], refused: [], parked: [], have });
  }
}
