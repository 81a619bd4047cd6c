import type { Caller } from '../../node/identity/caller.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Appended } from '../../protocol/base/result.js';
import { homeId } from '../../protocol/kinds/home.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { mayHold } from '../../protocol/log/scope.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { ACTIONS, ActionCalls } from './action-calls.js';
import type { Dice } from './dice.js';
import type { BornOperation, Ledger } from './ledger.js';
import type { Input, SimNode } from './sim-node.js';
import type { World } from './world.js';

/** One call of a client, and what became of it. */
export interface Invocation {
  readonly number: number;
  readonly node: SimNode;
  readonly name: string;
  readonly input: Input;
  /** The memory or link that it is about, when it names one. */
  readonly subject: string | null;
  /** Text that only this call writes; null when it writes none. */
  readonly mark: string | null;
  readonly invokedMs: number;
  /** Null while it waits, and for ever when its node died. */
  answer: Answer | null;
  answeredMs: number | null;
  /** What it put into the log of its node, as far as that became durable. */
  readonly operations: BornOperation[];
}

/** How many calls are about other kinds than memories. */
const OTHER_KINDS = 0.15;
/** How many deletes erase, and how many restores try to bring back what was erased. */
const ERASURES = 0.25;
/** How many calls are about approvals, in runs with approvals. */
const APPROVALS = 0.25;
const NAMESPACES = ['alpha', 'beta', 'beta/deep'];
const TIERS = ['short', 'mid', 'long'];

export interface WorkloadParts {
  readonly world: World;
  readonly nodes: readonly SimNode[];
  readonly ledger: Ledger;
  readonly clients: number;
  /** Mean time that a client thinks between two calls. */
  readonly thinkMs: number;
  readonly titles: number;
  readonly hasActions: boolean;
  /** Told when a call has been answered. */
  readonly onAnswer: (invocation: Invocation) => void;
}

/** How long a client waits for an answer before it goes on; the outcome is unknown then. */
const PATIENCE_MS = 12_000;

/** Clients that write at random nodes, and the history of what they were told. */
export class Workload {
  readonly history: Invocation[] = [];
  private readonly dice: Dice;
  private readonly ids: string[] = [];
  private readonly gone: string[] = [];
  private readonly links: string[] = [];
  private readonly pendings: string[] = [];
  private stopped = false;
  private readonly erased: string[] = [];
  /** Draws of its own, so that the other calls of a seed stay what they were. */
  private readonly erasures: Dice;
  private readonly approvals: Dice;
  /** True in some runs: then stores in one namespace wait for an approval. */
  private readonly asks: boolean;
  private readonly actionDice: Dice;
  /** Null in runs without actions. */
  private readonly actions: ActionCalls | null;

  constructor(private readonly parts: WorkloadParts) {
    this.dice = parts.world.dice('workload');
    this.erasures = parts.world.dice('erasures');
    this.approvals = parts.world.dice('approvals');
    this.asks = this.approvals.chance(0.25);
    this.actionDice = parts.world.dice('action calls');
    this.actions = parts.hasActions ? new ActionCalls(parts.world) : null;
  }

  start(): void {
    for (let client = 0; client < this.parts.clients; client += 1) this.think(client);
  }

  stop(): void {
    this.stopped = true;
  }

  private think(client: number): void {
    const { world, thinkMs } = this.parts;
    const pauseMs = -Math.log(1 - this.dice.unit()) * thinkMs;
    world.after(pauseMs, null, `client ${client}`, () => {
      if (this.stopped) return;
      const up = this.parts.nodes.filter((node) => node.up);
      if (up.length === 0) this.think(client);
      else this.call(client, this.dice.pick(up));
    });
  }

  private call(client: number, node: SimNode): void {
    const { world } = this.parts;
    const number = this.history.length;
    const agentId = `agent-${client % 3}`;
    const isAction = this.actions !== null && this.actionDice.chance(ACTIONS);
    const planned = isAction
      ? this.actions!.plan(this.namespace(node.peer), agentId)
      : this.plan(number, node.peer);
    const caller: Caller = {
      agentId,
      claimed: 'explicit',
      // Whose an action and a lease are does not bind operators.
      viewer: { all: !isAction, agentId, asNamespace: null },
      admin: true,
      local: client % 2 === 0,
    };
    const invocation: Invocation = {
      number,
      node,
      ...planned,
      invokedMs: world.nowMs,
      answer: null,
      answeredMs: null,
      operations: [],
    };
    this.history.push(invocation);
    world.note(node.name, `call ${number} ${planned.name} ${JSON.stringify(planned.input)}`);
    let waiting = true;
    const goOn = () => {
      if (waiting) this.think(client);
      waiting = false;
    };
    world.after(PATIENCE_MS, null, 'patience', goOn);
    const wrote = ({ origin, first, last }: Appended) => {
      for (let seq = first; seq <= last; seq += 1) {
        const operation = this.parts.ledger.operations.get(operationId(origin, seq));
        if (operation !== undefined) invocation.operations.push(operation);
      }
    };
    node.operate(planned.name, planned.input, caller, wrote).then(
      (answer) => {
        invocation.answer = answer;
        invocation.answeredMs = world.nowMs;
        const outcome = answer.ok ? JSON.stringify(answer.value).slice(0, 300) : answer.error.code;
        world.note(node.name, `answer ${number} ${outcome}`);
        this.learn(invocation, answer);
        this.parts.onAnswer(invocation);
        goOn();
      },
      (error: unknown) => {
        world.violate(node.name, 'exception', `call ${number} threw ${String(error)}`);
      },
    );
  }

  private learn({ name, subject }: Invocation, answer: Answer): void {
    this.actions?.learn(name, subject, answer);
    if (!answer.ok) return;
    const pending = answer.value['pending_id'];
    if (typeof pending === 'string') this.pendings.push(pending);
    const id = answer.value['id'];
    const entity = answer.value['entity_id'];
    if (name === 'memory_entity_register' && typeof entity === 'string') {
      const memory = entity.slice('ent-'.length);
      if (!this.ids.includes(memory)) this.ids.push(memory);
    }
    if (name === 'memory_store' && typeof id === 'string' && !this.ids.includes(id)) this.ids.push(id);
    const removes = name === 'memory_delete' || name === 'memory_archive';
    const links = name === 'memory_import' || name === 'memory_link';
    if (links && subject !== null && !this.links.includes(subject)) this.links.push(subject);
    if (removes && subject !== null && !this.gone.includes(subject)) this.gone.push(subject);
  }

  private plan(number: number, at: Peer): Pick<Invocation, 'name' | 'input' | 'subject' | 'mark'> {
    const { dice, ids } = this;
    const mark = `mark ${number} end`;
    if (this.asks && this.approvals.chance(APPROVALS)) return this.planApproval();
    if (dice.chance(OTHER_KINDS)) return this.planOther(at);
    const choice = dice.below(100);
    const id = ids.length === 0 ? null : this.recent(ids);
    if (id === null || choice < 34)
      return { name: 'memory_store', input: this.newRow(mark, at), subject: null, mark };
    if (choice < 56) {
      const expires = dice.chance(0.1) ? { expires_at: null } : {};
      const tier = dice.chance(0.1) ? { tier: dice.pick(TIERS) } : {};
      const title = dice.chance(0.12) ? { title: this.title() } : {};
      const namespace = dice.chance(0.05) ? this.move(at) : {};
      const input = { id, content: mark, ...expires, ...tier, ...title, ...namespace };
      return { name: 'memory_update', input, subject: id, mark };
    }
    if (choice < 66) {
      const erase = this.erasures.chance(ERASURES);
      if (erase) this.erased.push(id);
      return { name: 'memory_delete', input: { id, ...(erase ? { erase } : {}) }, subject: id, mark: null };
    }
    if (choice < 72) {
      return {
        name: 'memory_promote',
        input: { id, target_tier: dice.pick(['mid', 'long']) },
        subject: id,
        mark: null,
      };
    }
    if (choice < 76) return { name: 'memory_archive', input: { ids: [id] }, subject: id, mark: null };
    if (choice < 82) {
      const back = this.gone.length === 0 ? id : this.recent(this.gone);
      // An id that two nodes import across the border of a scope is not settled (docs/decisions/replication.md).
      const narrow = this.parts.nodes.some(({ parts }) => parts.scope !== null);
      if (!narrow && this.erased.length > 0 && this.erasures.chance(ERASURES))
        return this.planImport(mark, at);
      return { name: 'memory_archive_restore', input: { id: back }, subject: back, mark: null };
    }
    if (choice < 91) {
      return { name: 'memory_recall', input: { context: this.title(), limit: 5 }, subject: null, mark: null };
    }
    if (choice < 97) {
      const relation = dice.pick(['related_to', 'reflects_on']);
      const link = { source_id: id, target_id: this.recent(ids), relation };
      const subject = `${link.source_id}|${link.target_id}|${link.relation}`;
      if (dice.chance(0.7)) return { name: 'memory_link', input: link, subject, mark: null };
      return { name: 'memory_import', input: { memories: [], links: [link] }, subject, mark: null };
    }
    if (choice < 98) return { name: 'memory_gc', input: {}, subject: null, mark: null };
    const input = { namespace: this.namespace(at), pattern: this.title().split(' ')[1] };
    return { name: 'memory_forget', input, subject: null, mark: null };
  }

  /** An import under the id of a memory that was, or is being, erased. */
  private planImport(mark: string, at: Peer): Pick<Invocation, 'name' | 'input' | 'subject' | 'mark'> {
    const id = this.erased[this.erasures.below(this.erased.length)]!;
    const namespace = NAMESPACES.find((each) => mayHold(at, each))!;
    const row = { id, title: `again ${id}`, content: mark, namespace, tier: 'long' };
    return { name: 'memory_import', input: { memories: [row], links: [] }, subject: id, mark };
  }

  /** A policy that makes stores wait, or what becomes of one that waits. */
  private planApproval(): Pick<Invocation, 'name' | 'input' | 'subject' | 'mark'> {
    const { approvals: dice } = this;
    const call = (name: string, input: Input, subject: string) => ({ name, input, subject, mark: null });
    if (this.pendings.length === 0 || dice.chance(0.1)) {
      const governance = { write: 'approve', approver: { agent: `agent-${dice.below(3)}` } };
      const namespace = NAMESPACES[0]!;
      return call('memory_namespace_set_standard', { namespace, governance }, namespace);
    }
    const id = this.pendings[dice.below(this.pendings.length)]!;
    const choice = dice.below(10);
    if (choice < 6) return call('memory_pending_approve', { id }, id);
    return choice < 7 ? call('memory_pending_reject', { id }, id) : call('sim_settle', { id }, id);
  }

  /** A write of another kind than memories, or of a link that was made before. */
  private planOther(at: Peer): Pick<Invocation, 'name' | 'input' | 'subject' | 'mark'> {
    const { dice } = this;
    const call = (name: string, input: Input, subject: string) => ({ name, input, subject, mark: null });
    const choice = dice.below(10);
    if (choice < 3) {
      const namespace = this.namespace(at);
      const number = dice.below(6);
      const governance = { write: number % 2 === 0 ? 'any' : 'owner' };
      const input = { namespace, parent: `parent${number}`, governance };
      return call('memory_namespace_set_standard', input, namespace);
    }
    if (choice === 3) {
      const namespace = this.namespace(at);
      return call('memory_namespace_clear_standard', { namespace }, namespace);
    }
    if (choice < 7 && this.links.length > 0) {
      const subject = this.recent(this.links);
      const [source_id, target_id, relation] = subject.split('|');
      // Links are few, so that they are made again while others end or drop them.
      const name = dice.pick(['memory_unlink', 'memory_unlink', 'memory_kg_invalidate', 'memory_link']);
      return call(name, { source_id, target_id, relation }, subject);
    }
    if (choice === 9) {
      const aliases = [`alias ${dice.below(4)}`, `alias ${dice.below(4)}`];
      const input = { canonical_name: `entity ${dice.below(3)}`, namespace: this.namespace(at), aliases };
      return call('memory_entity_register', input, input.canonical_name);
    }
    const maker = dice.pick(this.parts.nodes.filter(({ parts }) => parts.scope === null));
    const id = homeId(maker.peerId, `lease${dice.below(2)}`);
    return call('sim_grant', { id }, id);
  }

  /**
   * A move across the border of a scope, beside an edit that has not seen it, is not settled for the node with the scope
   * before the next edit (docs/decisions.md), so there is none where a node has one.
   */
  private move(at: Peer): Input {
    const namespace = this.namespace(at);
    const narrow = this.parts.nodes.some(({ parts }) => parts.scope !== null);
    return narrow ? {} : { namespace };
  }

  private newRow(mark: string, at: Peer): Input {
    const { dice } = this;
    return {
      title: this.title(),
      content: mark,
      namespace: this.namespace(at),
      tier: dice.pick(TIERS),
      priority: 1 + dice.below(10),
      on_conflict: dice.pick(['error', 'merge', 'version']),
      ...(dice.chance(0.1) ? { ttl_secs: 60 + dice.below(60) } : {}),
    };
  }

  /** Only what the node may pass on. */
  private namespace(at: Peer): string {
    return this.dice.pick(NAMESPACES.filter((namespace) => mayHold(at, namespace)));
  }

  private title(): string {
    return `subject number${this.dice.below(this.parts.titles)} of many`;
  }

  /** Mostly one of the newest, so that writes meet. */
  private recent(values: readonly string[]): string {
    const depth = this.dice.chance(0.8) ? Math.min(values.length, 5) : values.length;
    return values[values.length - 1 - this.dice.below(depth)]!;
  }
}
