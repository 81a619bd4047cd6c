import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACTION_STATES, type ActionState } from '../../protocol/coordination/action-kind.js';
import { EDGE_TYPES, type EdgeType } from '../../protocol/coordination/edge-kind.js';
import { COMMANDS, type Command } from '../../protocol/release.js';
import { OPERATOR } from '../support/memories.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';
import {
  acquiring,
  adding,
  bring,
  creating,
  done,
  HOME,
  moving,
  OTHER,
  releasing,
  START_MS,
  THIRD,
  together,
  tried,
} from './coordination.js';

/** Drawn work of agents on three nodes, against a model that says what each call must answer. */

const NAMES = [HOME, OTHER, THIRD];
const AGENTS = ['ai:a', 'ai:b', 'ai:c'];

/** What becomes of an action, as its home knows it. */
interface Truth {
  readonly home: number;
  readonly owner: string | null;
  readonly creator: string;
  readonly priority: number;
  state: ActionState;
  claimer: string | null;
  holder: string | null;
  wasLeased: boolean;
  version: number;
}
type Seen = Pick<Truth, 'state' | 'claimer' | 'version'>;

/** The moves, written down a second time. */
const LEGAL = new Set(
  `pending>claimed pending>abandoned claimed>in_progress claimed>pending claimed>abandoned
   in_progress>done in_progress>failed in_progress>abandoned`.split(/\s+/),
);
const ENDS: readonly string[] = ['done', 'failed', 'abandoned'];

class Model {
  readonly truths: Truth[] = [];
  /** What each node has heard of each action. */
  readonly seen: Map<number, Seen>[] = NAMES.map(() => new Map());
  /** Edges as `from type to`, as far as each node has heard of them. */
  readonly edges: Set<string>[] = NAMES.map(() => new Set());

  create(home: number, creator: string, owner: string | null, priority: number): number {
    const fresh = { state: 'pending', claimer: null, holder: null, wasLeased: false, version: 0 } as const;
    this.truths.push({ home, owner, creator, priority, ...fresh });
    this.hear(home, this.truths.length - 1);
    return this.truths.length - 1;
  }

  hear(node: number, action: number): void {
    const { state, claimer, version } = this.truths[action]!;
    this.seen[node]!.set(action, { state, claimer, version });
  }

  bring(from: number, to: number): void {
    for (const edge of this.edges[from]!) this.edges[to]!.add(edge);
    for (const [action, said] of this.seen[from]!)
      if (said.version >= (this.seen[to]!.get(action)?.version ?? 0)) this.seen[to]!.set(action, said);
  }

  /** For whom an action waits, on a node: the other one, and whether any end of it will do. */
  waits(node: number, action: number): readonly (readonly [other: number, anyEnd: boolean])[] {
    return [...this.edges[node]!].flatMap((edge) => {
      const [from, type, to] = edge.split(' ') as [string, EdgeType, string];
      const [a, b] = [Number(from), Number(to)];
      if (type === 'requires' || type === 'gated_by') return a === action ? [[b, false] as const] : [];
      if (type === 'sibling') return [];
      return b === action ? [[a, type === 'blocks'] as const] : [];
    });
  }

  isBlocked(node: number, action: number): boolean {
    return this.waits(node, action).some(([other, anyEnd]) => {
      const state = this.seen[node]!.get(other)?.state ?? 'unknown';
      return anyEnd ? !ENDS.includes(state) : state !== 'done';
    });
  }

  private reaches(node: number, from: number, to: number, passed = new Set<number>()): boolean {
    if (from === to) return true;
    if (passed.has(from) || !this.seen[node]!.has(from)) return false;
    passed.add(from);
    return this.waits(node, from).some(([other]) => this.reaches(node, other, to, passed));
  }

  addEdge(node: number, from: number, to: number, type: EdgeType): string {
    if (from === to) return 'ACTION_CYCLE';
    if (!this.seen[node]!.has(from) || !this.seen[node]!.has(to)) return 'NOT_FOUND';
    const edge = `${from} ${type} ${to}`;
    if (this.edges[node]!.has(edge)) return 'ok';
    const [late, early] = type === 'requires' || type === 'gated_by' ? [from, to] : [to, from];
    if (type !== 'sibling' && this.reaches(node, early, late)) return 'ACTION_CYCLE';
    this.edges[node]!.add(edge);
    return 'ok';
  }

  move(node: number, action: number, to: ActionState, by: string): string {
    const told = this.seen[node]!.get(action)!;
    const truth = this.truths[action]!;
    const after = (claimer: string | null) => (to === 'pending' ? null : to === 'claimed' ? by : claimer);
    if (told.state !== truth.state) return 'ACTION_STATE_CHANGED';
    if (!LEGAL.has(`${truth.state}>${to}`)) return 'ILLEGAL_TRANSITION';
    if (after(told.claimer) !== after(truth.claimer)) return 'ACTION_STATE_CHANGED';
    const givesUp = to === 'abandoned' && (by === truth.owner || by === truth.creator);
    if (truth.holder !== null && truth.holder !== by && !givesUp) return 'NOT_LEASE_HOLDER';
    const isFree = truth.state === 'pending' ? to === 'claimed' : truth.claimer === null;
    const isOwn =
      truth.state === 'pending' ? truth.owner === null || truth.owner === by : truth.claimer === by;
    const may = truth.state === 'pending' ? isFree && isOwn : isFree || isOwn;
    if (truth.holder !== by && !givesUp && !may) return 'FORBIDDEN';
    if (to === 'claimed' && this.isBlocked(truth.home, action)) return 'ACTION_BLOCKED';
    Object.assign(truth, { claimer: after(truth.claimer), state: to, version: truth.version + 1 });
    if (to === 'pending' || ENDS.includes(to)) truth.holder = null;
    this.hear(truth.home, action);
    return 'ok';
  }

  acquire(action: number, by: string): string {
    const truth = this.truths[action]!;
    const { holder, state, owner, claimer, wasLeased } = truth;
    if (holder !== null && holder !== by) return 'LEASE_HELD';
    if (ENDS.includes(state)) return 'CONFLICT';
    if (claimer !== by) {
      if (owner !== null && owner !== by) return 'FORBIDDEN';
      if (claimer !== null && !(state === 'in_progress' && wasLeased)) return 'FORBIDDEN';
    }
    Object.assign(truth, { holder: by, wasLeased: true });
    return 'ok';
  }

  release(action: number, by: string): void {
    const truth = this.truths[action]!;
    if (truth.holder === by) truth.holder = null;
  }
}

/** The three nodes; a call that only the home decides is passed on as the mesh passes it on. */
class Nodes {
  readonly replicas = NAMES.map((name) => replica(name, START_MS));
  readonly ids: string[] = [];

  async call(node: number, command: Command, home: number): Promise<string> {
    const own = await tried(this.replicas[node]!, command);
    if (own.ok) return 'ok';
    if (own.error.code !== 'NOT_HOME') return own.error.code;
    assert.notEqual(node, home, 'the home itself says that it is not');
    const sent = JSON.parse(JSON.stringify(command)) as Readonly<Record<string, unknown>>;
    const read = COMMANDS.readForwarded(sent);
    assert.ok(read !== null, `${command.kind} cannot be passed on`);
    const passed = await tried(this.replicas[home]!, read as Command);
    return passed.ok ? 'ok' : passed.error.code;
  }
}

const place = fc.nat(NAMES.length - 1);
const agent = fc.constantFrom(...AGENTS);
const which = fc.nat(30);
const STEP = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), place, agent, which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant('edge' as const), place, which, other: which },
      type: fc.constantFrom(...EDGE_TYPES),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ do: fc.constant('move' as const), place, agent, which },
      to: fc.constantFrom<ActionState>(...ACTION_STATES, 'claimed', 'in_progress'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('acquire' as const), place, agent, which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), place, agent, which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('bring' as const), place, other: place }) },
);
type Step = typeof STEP extends fc.Arbitrary<infer S> ? S : never;

async function take(step: Step, nodes: Nodes, model: Model): Promise<void> {
  const node = nodes.replicas[step.place]!;
  if (step.do === 'bring') {
    if (step.place === step.other) return;
    await bring(node, nodes.replicas[step.other]!);
    model.bring(step.place, step.other);
    return;
  }
  if (step.do === 'create') {
    const owner = step.which % 3 === 0 ? step.agent : null;
    const priority = step.which % 4;
    const at = model.create(step.place, step.agent, owner, priority);
    // Ids in the order of creation, which the frontier follows within one millisecond.
    const id = `action-${String(at).padStart(3, '0')}`;
    await done(node, creating({ id, agentId: owner, priority }, step.agent));
    nodes.ids.push(id);
    return;
  }
  const known = [...model.seen[step.place]!.keys()];
  if (known.length === 0) return;
  const action = known[step.which % known.length]!;
  const { home } = model.truths[action]!;
  const id = nodes.ids[action]!;
  if (step.do === 'edge') {
    const other = step.other % nodes.ids.length;
    const expected = model.addEdge(step.place, action, other, step.type);
    const heard = await nodes.call(step.place, adding(id, nodes.ids[other]!, step.type), step.place);
    assert.equal(heard, expected, `edge ${action} ${step.type} ${other}`);
  } else if (step.do === 'move') {
    const command = await moving(node, id, step.to, step.agent);
    const expected = model.move(step.place, action, step.to, step.agent);
    const what = `${step.agent} moves ${action} from ${command.from} to ${step.to}`;
    assert.equal(await nodes.call(step.place, command, home), expected, what);
  } else if (step.do === 'acquire') {
    const expected = model.acquire(action, step.agent);
    const heard = await nodes.call(step.place, acquiring(id, step.agent), home);
    assert.equal(heard, expected, `${step.agent} leases ${action}`);
  } else {
    model.release(action, step.agent);
    assert.equal(await nodes.call(step.place, releasing(id, step.agent), home), 'ok');
  }
}

/** What a node shows of a board. */
async function boardOf(one: Replica) {
  const rows = one.db
    .prepare(
      `SELECT payload ->> '$.action_id' AS id, payload ->> '$.state' AS state, payload ->> '$.claimed_by' AS claimer
       FROM records WHERE kind = 'action' ORDER BY 1`,
    )
    .raw()
    .all();
  const asked = { namespace: 'team', viewer: OPERATOR, agentId: null, limit: 1000, stuckMax: 0 };
  const frontier = await one.store.query({ kind: 'action-frontier', ...asked });
  assert.ok(frontier.ok);
  return { rows, frontier: frontier.value.actions.map(({ action_id }) => action_id) };
}

describe('boards of three nodes', () => {
  it('follow the model through drawn work, and are equal when the nodes have heard of everything', async () => {
    const property = fc.asyncProperty(fc.array(STEP, { minLength: 10, maxLength: 60 }), async (steps) => {
      const [nodes, model] = [new Nodes(), new Model()];
      try {
        for (const step of steps) await take(step, nodes, model);
        await together(...nodes.replicas);
        for (const [at, { home }] of model.truths.entries())
          for (const node of NAMES.keys()) if (node !== home) model.hear(node, at);
        const edges = new Set(model.edges.flatMap((known) => [...known]));
        for (const known of model.edges) for (const edge of edges) known.add(edge);
        const ready = [...model.truths.entries()].filter(
          ([at, { state }]) => state === 'pending' && !model.isBlocked(0, at),
        );
        const expected = {
          rows: model.truths.map(({ state, claimer }, at) => [nodes.ids[at], state, claimer]),
          frontier: ready
            .sort(([a, one], [b, two]) => two.priority - one.priority || a - b)
            .map(([at]) => nodes.ids[at]),
        };
        for (const one of nodes.replicas) assert.deepEqual(await boardOf(one), expected);
      } finally {
        for (const one of nodes.replicas) await one.store.close();
      }
    });
    await fc.assert(property, { numRuns: 30 });
  });
});
