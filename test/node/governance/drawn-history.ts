import assert from 'node:assert/strict';
import { Dice } from '../../sim/dice.js';
import {
  type Change,
  gatesOf,
  type Held,
  keptOut,
  type Passed,
  type Policy,
  type Row,
} from './governance-model.js';
import { GovernedNode, OPERATOR_ID } from './governed-pair.js';

const CALLERS = ['ai:ada', 'ai:bob', 'ai:cyd'] as const;
const NAMESPACES = ['a', 'a/b', 'a/b/c', 'd'] as const;
const LEVELS = ['any', 'registered', 'owner', 'approve'] as const;
const TIERS = ['short', 'mid', 'long'] as const;

type Rows = ReadonlyMap<string, Row>;
type Input = Readonly<Record<string, unknown>>;

interface Vote {
  readonly voter: string;
  readonly decision: 'approve' | 'reject';
  readonly remember: string;
  /** The action as the voter saw it when it voted. */
  readonly saw: string;
}

/** An action that was put aside, as the history knows it. */
interface Asked {
  readonly id: string;
  readonly requester: string;
  readonly action: string;
  readonly home: number;
  readonly named: readonly string[];
  /** The rows of its node when it was requested. */
  readonly rows: Rows;
  readonly votes: Vote[];
  isOver: boolean;
}

/** A decision that holds for later actions. */
interface Remembered {
  readonly agent: string;
  readonly action: string;
  readonly gate: string;
  readonly namespace: string;
  readonly approver: string;
}

/** What a history did, for the test that looks whether it did enough. */
export interface Told {
  readonly violations: readonly string[];
  readonly steps: readonly string[];
  readonly counts: Readonly<Record<'direct' | 'waited' | 'executed' | 'refused', number>>;
}

/**
 * One drawn history: three callers and an operator on two nodes that set policies, store, edit, move, promote, undo, join,
 * delete, restore, ask, vote and replicate. After each step the rows that changed are judged by the model.
 */
export async function drawnHistory(seed: number, length: number): Promise<Told> {
  const nodes = [await GovernedNode.open(), await GovernedNode.open()] as const;
  try {
    return await new History(seed, nodes).run(length);
  } finally {
    for (const node of nodes) await node.close();
  }
}

class History {
  private readonly dice: Dice;
  private readonly asked = new Map<string, Asked>();
  private readonly policies = new Map<string, Policy>();
  private readonly remembered: Remembered[] = [];
  private readonly violations: string[] = [];
  private readonly steps: string[] = [];
  private readonly counts = { direct: 0, waited: 0, executed: 0, refused: 0 };
  /** Who owned the rows that are not there, by id: a row that comes back is no new row. */
  private readonly owners = new Map<string, string | null>();
  private texts = 0;

  constructor(
    seed: number,
    private readonly nodes: readonly [GovernedNode, GovernedNode],
  ) {
    this.dice = new Dice(seed, 'governance');
  }

  async run(length: number): Promise<Told> {
    for (const agent of CALLERS) {
      const input = { agent_id: agent, agent_type: 'ai:test' };
      const registered = await this.nodes[0].call(agent, 'memory_agent_register', input);
      assert.ok(registered.ok, JSON.stringify(registered));
    }
    await this.exchange();
    for (let step = 0; step < length && this.violations.length === 0; step += 1) await this.step();
    return { violations: this.violations, steps: this.steps, counts: this.counts };
  }

  private async step(): Promise<void> {
    const { dice } = this;
    const at = dice.below(2);
    const draw = dice.below(100);
    if (draw < 8) return await this.exchange();
    if (draw < 20) return await this.setPolicy(at);
    if (draw < 40 && this.asked.size > 0) return await this.vote(at);
    const agent = dice.pick(CALLERS);
    const { name, input, named } = this.drawnWrite(at, agent);
    await this.write(at, agent, name, input, named);
  }

  private drawnWrite(at: number, agent: string): { name: string; input: Input; named: string[] } {
    const { dice } = this;
    const rows = [...this.nodes[at]!.rows().values()];
    const own = rows.filter(({ owner }) => owner === agent);
    const row =
      own.length > 0 && dice.chance(0.7) ? dice.pick(own) : rows.length > 0 ? dice.pick(rows) : null;
    const draw = row === null ? 0 : dice.below(13);
    const id = row?.id ?? '';
    const one = (name: string, more: Input = {}) => ({ name, input: { id, ...more }, named: [id] });
    if (draw <= 2) return { name: 'memory_store', input: this.drawnStore(), named: [] };
    if (draw === 3) {
      const { title, namespace } = row!;
      const more = dice.pick([{}, { tier: dice.pick(TIERS) }, { scope: 'private' }]);
      const on_conflict = dice.pick(['merge', 'version']);
      return {
        ...one('memory_store'),
        input: { title, namespace, content: this.text(), on_conflict, ...more },
      };
    }
    if (draw <= 7) return one('memory_update', this.drawnPatch());
    if (draw === 8) {
      const above = row!.namespace.split('/').slice(0, -1).join('/');
      const more = above !== '' && dice.chance(0.5) ? { to_namespace: above } : {};
      return one('memory_promote', more);
    }
    if (draw === 9) return one('memory_delete');
    if (draw === 10) return one('memory_undo_edit');
    if (draw === 11) {
      const archived = this.nodes[at]!.archived();
      if (archived.length === 0) return one('memory_archive', { ids: [id], id: undefined });
      const back = dice.pick(archived);
      return { name: 'memory_archive_restore', input: { id: back }, named: [back] };
    }
    const ids = [...new Set([id, dice.pick(rows).id])];
    const input = { ids, title: this.title(), summary: this.text(), namespace: dice.pick(NAMESPACES) };
    return { name: 'memory_consolidate', input, named: ids };
  }

  private drawnStore(): Input {
    const { dice } = this;
    return {
      ...{ title: this.title(), content: this.text(), namespace: dice.pick(NAMESPACES) },
      tier: dice.pick(TIERS),
      ...(dice.chance(0.25) ? { scope: 'private' } : {}),
    };
  }

  private drawnPatch(): Input {
    const { dice } = this;
    const patch: Record<string, unknown> = {};
    if (dice.chance(0.4)) patch['content'] = this.text();
    if (dice.chance(0.2)) patch['title'] = this.title();
    if (dice.chance(0.3)) patch['namespace'] = dice.pick(NAMESPACES);
    if (dice.chance(0.2)) patch['tier'] = dice.pick(TIERS);
    if (dice.chance(0.2))
      patch['expires_at'] = dice.pick([
        null,
        '2000-01-01T00:00:00Z',
        '2026-12-30T00:00:00Z',
        '2090-01-01T00:00:00Z',
      ]);
    if (dice.chance(0.1)) patch['scope'] = dice.pick(['private', 'collective']);
    if (Object.keys(patch).length === 0) patch['content'] = this.text();
    return patch;
  }

  private title = (): string => `title ${this.dice.below(12)}`;

  private text(): string {
    this.texts += 1;
    return `text number ${this.texts} of this history`;
  }

  private async write(
    at: number,
    agent: string,
    name: string,
    given: Input,
    named: readonly string[],
  ): Promise<void> {
    const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const before = this.nodes[at]!.rows();
    const answer = await this.nodes[at]!.call(agent, name, input);
    const changes = changesOf(before, this.nodes[at]!.rows());
    const value = answer.ok ? answer.value : {};
    const waits = value['status'] === 'pending' && typeof value['pending_id'] === 'string';
    const said = answer.ok
      ? waits
        ? `waits as ${String(value['pending_id']).slice(0, 8)}`
        : 'done'
      : answer.error.code;
    this.steps.push(`node ${at}: ${agent} ${name} ${JSON.stringify(input)}: ${said}`);
    if (!answer.ok || waits) {
      this.counts[waits ? 'waited' : 'refused'] += 1;
      if (changes.length > 0) this.violation(`${said}, and rows changed: ${JSON.stringify(changes)}`);
    }
    if (waits) {
      const id = String(value['pending_id']);
      const action = String(value['action']);
      this.asked.set(id, {
        id,
        requester: agent,
        action,
        home: at,
        named,
        rows: before,
        votes: [],
        isOver: false,
      });
    }
    if (!answer.ok || waits) return;
    this.counts.direct += 1;
    for (const passed of this.gatesOf(changes)) {
      const problem = keptOut(this.policiesAt(at), agent, passed, (held) =>
        this.remembered.some(
          (known) =>
            known.agent === agent &&
            known.gate === passed.gate &&
            known.namespace === passed.namespace &&
            known.approver === JSON.stringify(held.approver),
        ),
      );
      if (problem !== null) this.violation(`without an approval: ${problem}; ${JSON.stringify(changes)}`);
    }
  }

  private async setPolicy(at: number): Promise<void> {
    const { dice } = this;
    const agent = dice.chance(0.45) ? OPERATOR_ID : dice.pick(CALLERS);
    const namespace = agent === OPERATOR_ID && dice.chance(0.15) ? '*' : dice.pick(NAMESPACES);
    const drawn = () => dice.pick(LEVELS);
    const governance = {
      write: drawn(),
      ...(dice.chance(0.6) ? { promote: drawn() } : {}),
      ...(dice.chance(0.6) ? { delete: drawn() } : {}),
      ...(dice.chance(0.2) ? { inherit: false } : {}),
      approver: dice.pick(['human', { agent: dice.pick(CALLERS) }, { consensus: 2 }]),
    };
    const parent = dice.chance(0.1) ? { parent: dice.pick(NAMESPACES) } : {};
    const held = this.policiesAt(at).find((policy) => policy.namespace === namespace);
    const known = new Set(this.nodes[at]!.standards());
    const answer = await this.nodes[at]!.call(agent, 'memory_namespace_set_standard', {
      ...{ namespace, governance },
      ...(namespace === '*' ? {} : parent),
    });
    this.steps.push(
      `node ${at}: ${agent} sets ${namespace} ${JSON.stringify({ ...governance, ...parent })}: ${answer.ok ? 'done' : answer.error.code}`,
    );
    if (!answer.ok) return;
    for (const text of this.nodes[at]!.standards().filter((standard) => !known.has(standard)))
      this.note(text, agent, namespace, held);
  }

  /** Notes who set what of a standard, and whether the caller might change what was set before. */
  private note(text: string, agent: string, namespace: string, held: Policy | undefined): void {
    const { governance: members } = JSON.parse(text) as { governance: Record<string, unknown> };
    const isAdmin = agent === OPERATOR_ID;
    const before = held ?? { owner: agent, ofAdmins: new Set<string>(), members: {} as Input };
    if (!isAdmin && before.owner !== agent)
      this.violation(`${agent} changed the policy of ${before.owner} in ${namespace}`);
    for (const name of isAdmin ? [] : before.ofAdmins) {
      if (JSON.stringify(members[name]) !== JSON.stringify(before.members[name]))
        this.violation(`${agent} changed ${name} in ${namespace}, which an admin had set`);
    }
    // An admin who changes a policy answers for all of it.
    const ofAdmins = new Set(isAdmin ? Object.keys(members) : before.ofAdmins);
    this.policies.set(text, { namespace, members, owner: before.owner, ofAdmins });
  }

  private async vote(at: number): Promise<void> {
    const { dice } = this;
    const open = [...this.asked.values()].filter(({ isOver }) => !isOver);
    if (open.length === 0) return;
    const asked = dice.pick(open);
    const others = CALLERS.filter((caller) => caller !== asked.requester);
    const voter = dice.chance(0.85) ? dice.pick(others) : asked.requester;
    const decision = dice.chance(0.85) ? 'approve' : 'reject';
    const remember = decision === 'approve' && dice.chance(0.2) ? dice.pick(['session', 'forever']) : 'once';
    const node = this.nodes[at]!;
    const before = node.rows();
    const listed = await node.call(voter, 'memory_pending_list', { limit: 1000 });
    assert.ok(listed.ok);
    const seen = (listed.value['pending'] as { id: string }[]).find(({ id }) => id === asked.id);
    const answer = await node.call(voter, `memory_pending_${decision}`, {
      id: asked.id,
      ...(decision === 'approve' ? { remember } : {}),
    });
    const said = answer.ok ? JSON.stringify(answer.value) : `${answer.error.code} ${answer.error.message}`;
    this.steps.push(
      `node ${at}: ${voter} ${decision}s ${asked.id.slice(0, 8)} (${asked.action}), ${remember}: ${said}`,
    );
    const changes = changesOf(before, node.rows());
    if (!answer.ok) {
      if (changes.length > 0) this.violation(`a vote failed, and rows changed: ${JSON.stringify(changes)}`);
      return;
    }
    asked.votes.push({ voter, decision, remember, saw: JSON.stringify(seen ?? null) });
    const isExecuted = answer.value['approved'] === true;
    if (isExecuted) this.executed(at, [asked], changes);
    else if (changes.length > 0)
      this.violation(`an action that is not approved changed ${JSON.stringify(changes)}`);
    if (isExecuted || answer.value['rejected'] === true) asked.isOver = true;
  }

  private async exchange(): Promise<void> {
    this.steps.push('the nodes replicate');
    await this.nodes[0].pull(this.nodes[1]);
    await this.nodes[1].pull(this.nodes[0]);
    for (const [at, node] of this.nodes.entries()) {
      const before = node.rows();
      await node.settle();
      const listed = await node.call(OPERATOR_ID, 'memory_pending_list', { limit: 1000 });
      assert.ok(listed.ok);
      const states = new Map(
        (listed.value['pending'] as { id: string; status: string }[]).map(({ id, status }) => [id, status]),
      );
      const settled = [...this.asked.values()].filter(
        ({ id, home, isOver }) => !isOver && home === at && states.get(id) !== 'pending',
      );
      for (const asked of settled) asked.isOver = true;
      const approved = settled.filter(({ id }) => states.get(id) === 'approved');
      this.executed(at, approved, changesOf(before, node.rows()));
    }
  }

  /** Judges the changes of actions that were executed together: each must be justified by one of them. */
  private executed(at: number, actions: readonly Asked[], changes: readonly Change[]): void {
    this.counts.executed += actions.length;
    for (const change of changes) {
      const problems = actions.map((asked) => this.problemOf(at, asked, change));
      if (!problems.includes(null))
        this.violation(
          `executed without reason: ${JSON.stringify(change)}: ${problems.join('; ') || 'no action'}`,
        );
    }
    for (const asked of actions) this.remember(at, asked, changes);
  }

  private problemOf(at: number, asked: Asked, change: Change): string | null {
    const { requester, votes, named, rows } = asked;
    const row = (change.before ?? change.after)!;
    const voters = votes.filter(({ decision }) => decision === 'approve');
    if (voters.some(({ voter }) => voter === requester)) return `${requester} approved itself`;
    if (change.before !== null) {
      if (named.length > 0 && !named.includes(row.id)) return 'it did not name this row';
      const then = rows.get(row.id);
      if (then === undefined || JSON.stringify(then) !== JSON.stringify(change.before))
        return `the row was ${JSON.stringify(then)} when it was requested`;
    }
    for (const passed of this.gatesOf([change])) {
      const problem = keptOut(this.policiesAt(at), requester, passed, (held) =>
        decides(held, voters, requester),
      );
      if (problem !== null) return problem;
    }
    return unseen(change, voters);
  }

  private remember(
    at: number,
    { requester, action, votes, named, rows }: Asked,
    changes: readonly Change[],
  ): void {
    if (!votes.some(({ remember }) => remember !== 'once')) return;
    // A request that changes nothing after all, as a tier that is not lowered, has asked for its write.
    const asked = action !== 'update' ? [] : named.flatMap((id) => rows.get(id) ?? []);
    const written = asked.map((row) => ({ ...row, gate: 'write' as const }));
    for (const { gate, namespace, owner, isPrivate } of [...this.gatesOf(changes), ...written]) {
      keptOut(this.policiesAt(at), requester, { gate, namespace, owner, isPrivate } as Passed, (held) => {
        const approver = JSON.stringify(held.approver);
        this.remembered.push({ agent: requester, action, gate, namespace, approver });
        return true;
      });
    }
  }

  private gatesOf(changes: readonly Change[]): Passed[] {
    const passed = changes.flatMap(({ before, after }) => {
      const owner = after === null || before !== null ? undefined : this.owners.get(after.id);
      return gatesOf({ before, after }).map((gate) => (owner === undefined ? gate : { ...gate, owner }));
    });
    for (const { before } of changes) if (before !== null) this.owners.set(before.id, before.owner);
    return passed;
  }

  private policiesAt(at: number): Policy[] {
    return this.nodes[at]!.standards().flatMap((text) => {
      const policy = this.policies.get(text);
      assert.ok(policy !== undefined, `nobody set ${text}`);
      return policy.members === null ? [] : [policy];
    });
  }

  private violation(what: string): void {
    this.violations.push(what);
  }
}

function changesOf(before: Rows, after: Rows): Change[] {
  const ids = new Set([...before.keys(), ...after.keys()]);
  return [...ids]
    .map((id) => ({ before: before.get(id) ?? null, after: after.get(id) ?? null }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after));
}

/** True where the votes suffice for who decides at a gate. */
function decides({ approver }: Held, votes: readonly Vote[], requester: string): boolean {
  const voters = new Set(votes.map(({ voter }) => voter).filter((voter) => voter !== requester));
  const { agent, consensus } = (typeof approver === 'object' ? approver : {}) as {
    agent?: string;
    consensus?: number;
  };
  if (agent !== undefined) return voters.has(agent);
  return voters.size >= (consensus ?? 1);
}

/** What a voter could not see of a change that it may see; null when each saw the texts that are new. */
function unseen({ before, after }: Change, votes: readonly Vote[]): string | null {
  if (after === null || after.isPrivate || before?.isPrivate === true) return null;
  for (const member of ['title', 'content', 'namespace'] as const) {
    if (before !== null && before[member] === after[member]) continue;
    // A store with `on_conflict: version` keeps both titles and numbers the later one.
    const asked = member === 'title' ? after.title.replace(/ \(\d+\)$/, '') : after[member];
    for (const { voter, saw } of votes)
      if (![asked, after[member]].some((text) => saw.includes(JSON.stringify(text))))
        return `${voter} did not see ${member} "${after[member]}"`;
  }
  return null;
}
