import { NO_HOOKS } from '../../actors/hooks/hooks.js';
import { loadSettings } from '../../node/config/load-settings.js';
import type { Settings } from '../../node/config/settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { fingerprintOf } from '../../node/identity/machine-key.js';
import { NO_MODELS } from '../../node/models/no-models.js';
import { CATALOGUE } from '../../node/operations/catalogue.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Services } from '../../node/pipeline/call.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { ReadLimiter } from '../../node/pipeline/read-limits.js';
import { RememberedSessions } from '../../node/runtime/recall-sessions.js';
import { type DeferredTouches, touchesOf } from '../../node/runtime/touch-queue.js';
import { RememberedVerifications } from '../../node/runtime/verifications.js';
import { Screen } from '../../node/secrets/screen.js';
import { countsWithin } from '../../node/semantics/budget.js';
import { NO_SEMANTICS } from '../../node/semantics/no-semantics.js';
import { NO_RERANKER } from '../../node/semantics/reranker/no-reranker.js';
import type { TokenCounter } from '../../node/semantics/token-counter.js';
import { type Appended, ok, type Result } from '../../protocol/base/result.js';
import type { Signer } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import type { PeerTransport } from '../../protocol/wire/transport.js';
import { DamageWatch } from '../../storage/damage-watch.js';
import type { Store } from '../../storage/port.js';
import type { Dice } from './dice.js';
import { SimDisk } from './disk.js';
import type { Mutant } from './mutant.js';
import type { Receiver, SimNetwork } from './network.js';
import { SIM_KINDS, SIM_OPERATIONS } from './sim-kinds.js';
import { SimRoster } from './sim-roster.js';
import { clockOf, logOf, randomOf, type SimKeys, SimScheduler, type WallClock } from './sim-seams.js';
import { type DiskPace, SimStore } from './sim-store.js';
import type { World } from './world.js';

/** One run of a node, from its start to its end or crash. */
export interface NodeRun {
  readonly node: SimNode;
  readonly number: number;
  readonly scheduler: SimScheduler;
  readonly services: Services;
  readonly transport: PeerTransport;
  readonly alive: () => boolean;
}

/** What makes a node a member of a mesh. */
export interface Membership {
  readonly receive: Receiver;
  /** Runs an operation as the node's surfaces do; null where replication takes no part in writes. */
  readonly operate:
    | ((name: string, input: Input, caller: Caller, services: Services) => Promise<Answer>)
    | null;
  /** Scrubs the disk as an operator does; answers what is still lost or left undone. */
  scrub?(): Promise<readonly string[]>;
  /** A row was found damaged. */
  suspected?(): void;
  /** What the node tells its operator. */
  alarms?(): readonly string[];
  stop(): Promise<void>;
  /** Names of actors that still run; for the checks after a stop. */
  remaining(): readonly string[];
}

export type JoinMesh = (run: NodeRun) => Promise<Membership>;

export type Input = Readonly<Record<string, unknown>>;

export interface SimNodeParts {
  readonly world: World;
  readonly network: SimNetwork;
  readonly keys: SimKeys;
  readonly name: string;
  readonly join: JoinMesh;
  /** A planted bug, around the seams of every node. */
  readonly mutant: Mutant | null;
  /** W: copies that a write waits for. */
  readonly quorumWrites: number;
  /** Globs of the namespaces that others let it hold; null and default: all. */
  readonly scope?: readonly string[] | null;
  /** Told of each sync. */
  readonly onCommit: (
    node: SimNode,
    batch: readonly Command[],
    results: readonly Result<OutcomeOf<Command>>[],
  ) => void;
  /** Told of a bug that the store reports. */
  readonly onBug: (node: SimNode, stack: string) => void;
  readonly settings: Partial<Settings>;
  readonly wall: WallClock;
}

const OPERATIONS_BY_NAME = new Map<string, Operation>(
  [...OPERATIONS, ...SIM_OPERATIONS].map((operation) => [operation.name, operation]),
);

let base: Settings | null = null;

/** Settings of a node without a home. */
function simSettings(): Settings {
  base ??= loadSettings(
    {
      home: '/nonexistent/sim',
      dbPath: ':memory:',
      embedBackend: 'none',
      logLevel: 'silent',
      requireAttestation: false,
    },
    { env: {} },
  );
  return base;
}

const quarters: TokenCounter = {
  counts: (texts, budget) =>
    Promise.resolve(ok([...countsWithin(texts, budget, (text) => Math.ceil(text.length / 4))])),
};

/** A node: a disk, a clock and a key that stay, and one run after the other on top of them. */
export class SimNode {
  readonly peerId: string;
  readonly signer: Signer;
  readonly disk: SimDisk;
  /** Who it knows; written by those who form the mesh. */
  readonly roster = new SimRoster();
  /** Founders are members from the beginning; one that joins later is `outside` before, one that left `departed`. */
  standing: 'outside' | 'member' | 'departed' = 'member';
  readonly pace: DiskPace = { syncMinMs: 0.2, syncMaxMs: 3, lateReads: 0.1 };
  /** Crash at the next sync. */
  nextCrash: 'before' | 'after' | null = null;
  run: NodeRun | null = null;
  runs = 0;
  private store: SimStore | null = null;
  private membership: Membership | null = null;
  private readonly dice: Dice;
  private readonly diskDice: Dice;

  constructor(readonly parts: SimNodeParts) {
    const { world, keys, name, wall } = parts;
    this.signer = keys.signer(world.dice(`key ${name}`).bytes(32));
    this.peerId = `peer-${fingerprintOf(this.signer.publicKey).slice(0, 16)}`;
    this.dice = world.dice(`node ${name}`);
    this.diskDice = world.dice(`disk ${name}`);
    parts.network.enroll(this.peerId, name);
    this.disk = new SimDisk(this.peerId, keys.crypto, this.freshEpoch(), wall.nowMs());
  }

  get name(): string {
    return this.parts.name;
  }

  get kinds(): Kinds {
    return this.parts.mutant?.kinds ?? SIM_KINDS;
  }

  get quorumWrites(): number {
    return this.parts.quorumWrites;
  }

  get up(): boolean {
    return this.run !== null;
  }

  /** How others know it. */
  get peer(): Peer {
    return {
      peerId: this.peerId,
      url: `https://${this.name}.sim:9077`,
      publicKey: this.signer.publicKey,
      fingerprints: [],
      allowedNamespaces: this.parts.scope ?? null,
      allowedSenderAgentIds: [],
      state: this.standing === 'departed' ? 'departed' : 'member',
    };
  }

  freshEpoch(): string {
    return Buffer.from(this.dice.bytes(8)).toString('hex');
  }

  /** Begins a run over what the disk holds. */
  async start(): Promise<void> {
    if (this.run !== null) return;
    const { world, keys, wall, network, join, mutant, onCommit } = this.parts;
    this.runs += 1;
    const number = this.runs;
    const alive = () => this.run?.number === number;
    const real = clockOf(world, wall);
    const clock = mutant?.clock?.(real, this) ?? real;
    const settings: Settings = { ...simSettings(), ...this.parts.settings };
    const log = logOf(world, this.name);
    const store = new SimStore({
      world,
      place: this.name,
      disk: this.disk,
      clock,
      dice: this.diskDice,
      pace: this.pace,
      crypto: keys.crypto,
      signer: this.signer,
      policy: nodePolicy(settings, ''),
      kinds: this.kinds,
      reportBug: (error) => this.parts.onBug(this, stackOf(error)),
      onCommit: (batch, results) => onCommit(this, batch, results),
      crashAt: () => {
        const crash = this.nextCrash;
        this.nextCrash = null;
        return crash;
      },
      crash: () => this.crash(),
    });
    const wrapped: Store = new DamageWatch(mutant?.store?.(store, this) ?? store, clock, {
      suspected: () => this.membership?.suspected?.(),
      refusing: () => {},
      corrupt: (message) => this.parts.onBug(this, message),
    });
    const scheduler = new SimScheduler(world, this.name);
    const screen = new Screen(settings);
    const services: Services = {
      store: wrapped,
      semantic: NO_SEMANTICS,
      reranker: NO_RERANKER,
      models: NO_MODELS,
      tokens: quarters,
      touches: touchesOf({ store: wrapped, scheduler, log, screen, settings }),
      recallSessions: new RememberedSessions(),
      hooks: NO_HOOKS,
      reads: new ReadLimiter({ settings, crypto: keys.crypto }),
      screen,
      verifications: new RememberedVerifications(),
      storeAdvice: { begin: () => true, end: () => undefined, within: (look) => look },
      settings,
      clock,
      random: randomOf(this.dice),
      crypto: keys.crypto,
      log,
      peerId: this.peerId,
      machineKey: this.signer,
      catalogue: CATALOGUE,
      isMember: (peerId) => this.roster.find(peerId)?.state === 'member',
      condition: () => ({ ready: true, degraded: [], pendingEmbeddings: null, writer: 'daemon' }),
    };
    const carrier = network.transport(this.name, alive);
    const transport = mutant?.transport?.(carrier, this) ?? carrier;
    const run: NodeRun = { node: this, number, scheduler, services, transport, alive };
    this.run = run;
    this.store = store;
    world.note(this.name, `start ${number}`);
    const membership = await join(run);
    if (!alive()) return;
    this.membership = membership;
    const receive = mutant?.receiver?.(membership.receive, this) ?? membership.receive;
    network.listen(this.name, receive);
  }

  /** The process ends at once; what was not synced is lost. */
  crash(): void {
    const { run } = this;
    if (run === null) return;
    this.parts.world.note(this.name, 'crash');
    this.run = null;
    this.membership = null;
    this.parts.network.listen(this.name, null);
    this.store?.drop();
    this.store = null;
    run.scheduler.end();
    this.roster.forgetListeners();
    this.disk.lose();
    this.nextCrash = null;
  }

  /** What the running node would tell its operator. */
  alarms(): readonly string[] {
    return this.membership?.alarms?.() ?? [];
  }

  /** Looks through the whole disk and repairs it; answers what could not be. */
  async scrub(): Promise<readonly string[]> {
    return (await this.membership?.scrub?.()) ?? [`${this.name} does not scrub`];
  }

  /** Ends in order; answers what should not have been left. */
  async stop(): Promise<string[]> {
    const { run, membership } = this;
    if (run === null) return [];
    this.parts.network.listen(this.name, null);
    await membership?.stop();
    await (run.services.touches as DeferredTouches).close();
    const left = [...(membership?.remaining() ?? [])].map((name) => `actor ${name}`);
    if (run.scheduler.pendingTimers > 0) left.push(`${run.scheduler.pendingTimers} timers`);
    this.crash();
    return left;
  }

  /**
   * Runs an operation as a surface would; never answers when the node dies meanwhile. `onAppended` hears of each range of
   * the own log that it wrote.
   */
  async operate(
    name: string,
    input: Input,
    caller: Caller,
    onAppended: (range: Appended) => void = () => undefined,
  ): Promise<Answer> {
    const { run, membership } = this;
    if (run === null) throw new Error(`${this.name} is down`);
    const services = { ...run.services, store: heard(run.services.store, onAppended) };
    const answered = (membership?.operate ?? plain)(name, input, caller, services);
    return new Promise((resolve, reject) => {
      answered.then((answer) => {
        if (run.alive()) resolve(answer);
      }, reject);
    });
  }
}

/** Runs an operation over HTTP but for HTTP. */
export function plain(name: string, input: Input, caller: Caller, services: Services): Promise<Answer> {
  const operation = OPERATIONS_BY_NAME.get(name)!;
  return runOperation(operation, { surface: 'http', caller, input, unknownFields: 'refuse' }, services);
}

function heard(store: Store, onAppended: (range: Appended) => void): Store {
  return {
    execute: async (command, options) => {
      const result = await store.execute(command, options);
      if (result.ok && result.appended !== undefined) onAppended(result.appended);
      return result;
    },
    query: (query, options) => store.query(query, options),
    selfCheck: (cursor, options) => store.selfCheck(cursor, options),
    close: () => Promise.resolve(),
  };
}

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
