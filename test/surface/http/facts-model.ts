import assert from 'node:assert/strict';
import fc from '../../support/properties.js';
import { until } from '../../support/wait.js';
import type { HttpNode } from './http-node.js';

/**
 * A simple model of memories with two times: what is drawn is done to a node and to the model, and at drawn instants on both axes
 * both answer the same.
 */

type Json = Record<string, unknown>;

const AGENTS = ['ai:alice', 'ai:bob'] as const;
const DAYS = ['2020-01-01', '2021-01-01', '2022-01-01', '2023-01-01', '2024-01-01'].map(
  (day) => `${day}T00:00:00.000Z`,
);
const PLACES = ['a', 'a/b', 'c'] as const;

interface State {
  readonly owner: string;
  readonly place: string;
  readonly content: string;
  readonly from: string | null;
  readonly until: string | null;
  readonly isPrivate: boolean;
}

interface Modelled {
  readonly id: string;
  /** The states by their version. */
  readonly versions: Map<number, State>;
  version: number;
  now: State | null;
  archived: State | null;
}

/** After each step: what was known, and until when it was so. */
interface Moment {
  readonly until: string;
  readonly known: ReadonlyMap<string, State>;
}

const day = fc.option(fc.constantFrom(...DAYS), { nil: null });
const index = fc.nat(3);

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('store' as const),
      by: fc.constantFrom(...AGENTS),
      place: fc.constantFrom(...PLACES),
      from: day,
      until: day,
      isPrivate: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('update' as const),
      at: index,
      change: fc.oneof(
        fc.record({ from: day }),
        fc.record({ until: day }),
        fc.record({ place: fc.constantFrom(...PLACES) }),
        fc.record({ isPrivate: fc.boolean() }),
        fc.record({ content: fc.constantFrom('one', 'two', 'three') }),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('supersede' as const), at: index, other: index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('resolve' as const),
      at: index,
      other: index,
      keep: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('archive', 'restore', 'delete'), at: index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('undo' as const),
      at: index,
      to: fc.integer({ min: 1, max: 4 }),
    }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

export const histories = fc.array(step, { minLength: 4, maxLength: 16 });

const question = fc.record({
  by: fc.constantFrom(...AGENTS),
  moment: fc.nat(9),
  asOf: day,
  place: fc.option(fc.constantFrom(...PLACES, 'a/**' as const), { nil: null }),
});
export type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;
export const questions = fc.array(question, { minLength: 5, maxLength: 8 });

/** An instant that lies after all that was done and before all that will be. */
export async function instantBetween(): Promise<string> {
  const at = Date.now() + 1;
  await until('the clock has gone on', () => Date.now() > at, { everyMs: 0 });
  return new Date(at).toISOString();
}

let runs = 0;

/** One node and one model side by side, in namespaces of their own. */
export class FactsRun {
  private readonly root: string;
  private readonly memories: Modelled[] = [];
  private readonly moments: Moment[] = [];
  private stored = 0;

  constructor(private readonly node: Pick<HttpNode, 'send'>) {
    runs += 1;
    this.root = `facts${runs}`;
  }

  async take(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      await this.do(one);
      await this.note();
    }
  }

  private async note(): Promise<void> {
    const noted = await instantBetween();
    const known = new Map(this.memories.flatMap(({ id, now }) => (now === null ? [] : [[id, now] as const])));
    this.moments.push({ until: noted, known });
  }

  private async do(one: Step): Promise<void> {
    if (one.act === 'store') return this.store(one);
    const memory = this.memories[one.at];
    if (memory === undefined) return;
    if (one.act === 'restore') return this.restore(memory);
    if (memory.now === null) return;
    const { now } = memory;
    const path = `/memories/${memory.id}`;
    if (one.act === 'update') {
      const change = one.change as Partial<State>;
      const after = { ...now, ...change };
      const refused = after.from !== null && after.until !== null && after.from > after.until;
      const validity = 'from' in change || 'until' in change;
      const status = refused && validity ? 400 : 200;
      await this.send(status, 'PUT', path, this.bodyOf(change), now.owner);
      if (status === 200) this.becomes(memory, after);
    } else if (one.act === 'delete') {
      // A copy stays in the archive, as the setting says.
      await this.send(200, 'DELETE', path, undefined, now.owner);
      this.archive(memory);
    } else if (one.act === 'archive') {
      await this.send(200, 'POST', '/archive', { ids: [memory.id] }, now.owner);
      this.archive(memory);
    } else if (one.act === 'undo') {
      const held = memory.versions.get((one as { to: number }).to);
      if (held === undefined) return;
      await this.send(200, 'POST', `${path}/undo`, { to: (one as { to: number }).to }, now.owner);
      this.becomes(memory, { ...held });
    } else {
      await this.supersede(memory, one as { other: number; act: string; keep?: boolean });
    }
  }

  private async supersede(
    memory: Modelled,
    { other, act, keep }: { other: number; act: string; keep?: boolean },
  ) {
    const target = this.memories[other];
    const now = memory.now!;
    if (target === undefined || target === memory || target.now === null || target.now.owner !== now.owner)
      return;
    const begin = new Date().toISOString();
    if (act === 'supersede') {
      const body = { source_id: memory.id, target_id: target.id, relation: 'supersedes' };
      const linked = await this.send(201, 'POST', '/links', body, now.owner);
      if (linked['created'] === true) this.ends(target, now.from ?? begin, linked['target_valid_until']);
      return;
    }
    const body = { winner: memory.id, loser: target.id, keep: keep === true };
    await this.send(200, 'POST', '/contradictions/resolve', body, now.owner);
    this.becomes(memory, now);
    if (keep !== true) this.archive(target);
    else {
      const shown = await this.send(200, 'GET', `/memories/${target.id}`, undefined, now.owner);
      this.ends(target, now.from ?? begin, (shown['memory'] as Json)['valid_until']);
    }
  }

  /** `told`: what the node says, for a beginning that is the instant of the call. */
  private ends(target: Modelled, begin: string, told: unknown): void {
    const state = target.now!;
    if (state.until !== null && state.until <= begin) return;
    const until = state.from !== null && state.from > begin ? state.from : begin;
    if (until === state.until) return;
    assert.ok(
      typeof told === 'string' && told >= until && Date.parse(told) - Date.parse(until) < 5000,
      `${told} is ${until}`,
    );
    this.becomes(target, { ...state, until: told });
  }

  private async store(one: {
    by: string;
    place: string;
    from: string | null;
    until: string | null;
    isPrivate: boolean;
  }) {
    this.stored += 1;
    const { by: owner, place, from, until, isPrivate } = one;
    const state: State = { owner, place, from, until, isPrivate, content: `text ${this.stored}` };
    const status = from !== null && until !== null && from > until ? 400 : 201;
    const { from: _from, until: _until, ...said } = state;
    const body = {
      title: `fact ${this.stored}`,
      ...this.bodyOf({ ...said, ...(from === null ? {} : { from }), ...(until === null ? {} : { until }) }),
    };
    const answer = await this.send(status, 'POST', '/memories', body, owner);
    if (status !== 201) return;
    this.memories.push({
      id: String(answer['id']),
      versions: new Map([[1, state]]),
      version: 1,
      now: state,
      archived: null,
    });
  }

  private async restore(memory: Modelled): Promise<void> {
    if (memory.archived === null) return;
    await this.send(200, 'POST', `/archive/${memory.id}/restore`, {}, memory.archived.owner);
    memory.now = memory.archived;
    memory.archived = null;
  }

  private archive(memory: Modelled): void {
    memory.archived = memory.now;
    memory.now = null;
  }

  private becomes(memory: Modelled, state: State): void {
    memory.now = state;
    memory.version += 1;
    memory.versions.set(memory.version, state);
  }

  private bodyOf(state: Partial<State>): Json {
    return {
      ...('place' in state ? { namespace: `${this.root}/${state.place}` } : {}),
      ...('content' in state ? { content: state.content } : {}),
      ...('from' in state ? { valid_from: state.from } : {}),
      ...('until' in state ? { valid_until: state.until } : {}),
      ...('isPrivate' in state ? { scope: state.isPrivate ? 'private' : 'collective' } : {}),
    };
  }

  /** The node and the model answer the same, at an instant on each axis. */
  async ask({ by, moment, asOf, place }: Question): Promise<void> {
    const asked = this.moments[moment];
    const query = new URLSearchParams({ limit: '100' });
    query.set('namespace', place === null ? `${this.root}/**` : `${this.root}/${place}`);
    if (asked !== undefined) query.set('known_at', asked.until);
    if (asOf !== null) query.set('as_of', asOf);
    const listed = await this.send(200, 'GET', `/memories?${query}`, undefined, by);
    assert.equal(listed['not_kept'], undefined);
    const found = (listed['memories'] as Json[]).map((memory) => ({
      id: memory['id'],
      place: String(memory['namespace']).slice(this.root.length + 1),
      content: memory['content'],
      from: memory['valid_from'] ?? null,
      until: memory['valid_until'] ?? null,
    }));
    assert.deepEqual(found.sort(byId), this.expected(by, asked, asOf, place).sort(byId), String(query));
    if (asOf !== null) await this.find(by, asOf);
  }

  /** A search and a recall find what holds at an instant; every title has the word. */
  private async find(by: string, asOf: string): Promise<void> {
    const expected = this.expected(by, undefined, asOf, null).map(({ id }) => id);
    for (const [path, rows] of [
      ['search', 'results'],
      ['recall', 'memories'],
    ] as const) {
      const query = new URLSearchParams({
        q: 'fact',
        namespace: `${this.root}/**`,
        as_of: asOf,
        limit: '50',
      });
      if (path === 'recall') query.set('min_score', '0');
      const answer = await this.send(200, 'GET', `/${path}?${query}`, undefined, by);
      const found = (answer[rows] as Json[]).map(({ id }) => id);
      assert.deepEqual(found.sort(), [...expected].sort(), `${path} ${query}`);
    }
  }

  private expected(by: string, asked: Moment | undefined, asOf: string | null, place: string | null) {
    const mayRead = (state: State) => !state.isPrivate || state.owner === by;
    return this.memories.flatMap(({ id, now, archived }) => {
      const today = now ?? (asked === undefined ? null : archived);
      if (today === null || !mayRead(today)) return [];
      const state = asked === undefined ? now : asked.known.get(id);
      if (state === undefined || state === null || !mayRead(state)) return [];
      const { from, until, content } = state;
      if (asOf !== null && ((from !== null && from > asOf) || (until !== null && until <= asOf))) return [];
      const isThere =
        place === null || (place === 'a/**' ? /^a(\/|$)/.test(state.place) : state.place === place);
      return isThere ? [{ id, place: state.place, content, from, until }] : [];
    });
  }

  private async send(status: number, method: string, path: string, body: unknown, by: string): Promise<Json> {
    const answer = await this.node.send(method, `/api/v1${path}`, body, { 'x-agent-id': by });
    assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`);
    return answer.json!;
  }
}

const byId = (a: { id: unknown }, b: { id: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1);

/** Draws histories and questions for a node. */
export async function compareWithModel(node: Pick<HttpNode, 'send'>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(histories, questions, async (steps, asked) => {
      const run = new FactsRun(node);
      await run.take(steps);
      for (const one of asked) await run.ask(one);
    }),
    { numRuns },
  );
}
