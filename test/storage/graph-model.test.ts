import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { Relation } from '../../protocol/links/link.js';
import { linking, OPERATOR, storing, tenant } from '../support/memories.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';
import { GraphModel, type ModelMemory } from './graph-model.js';

const START_MS = 1_772_000_000_000;
const STEP_MS = 1000;
/** A history takes so many steps; questions and validities lie around it too. */
const STEPS = 40;
/** Few instants, so that those of questions often are those of links. */
const INSTANT_STEPS = 4;

/** Ids of which one begins another, so that the order of paths shows. */
const MEMORIES: readonly ModelMemory[] = [
  { id: 'a', title: 'first', privateTo: null },
  { id: 'a-1', title: 'second', privateTo: null },
  { id: 'a.b', title: 'third', privateTo: 'ai:alice' },
  { id: 'ab', title: 'fourth', privateTo: null },
  { id: 'b:1', title: 'fifth', privateTo: 'ai:bob' },
  { id: 'B', title: 'sixth', privateTo: null },
];
const AGENTS = ['ai:alice', 'ai:bob'];

const memoryId = fc.constantFrom(...MEMORIES.map(({ id }) => id));
const relation = fc.constantFrom<Relation>('related_to', 'depends_on');
const instant = fc
  .integer({ min: -1, max: STEPS / INSTANT_STEPS })
  .map((number) => instantFromMs(START_MS + number * INSTANT_STEPS * STEP_MS));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });

const action = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      what: fc.constant('link' as const),
      source: memoryId,
      target: memoryId,
      relation,
      from: maybe(instant),
      until: maybe(instant),
      by: fc.constantFrom(null, ...AGENTS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('end' as const), which: fc.nat(), until: maybe(instant) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('drop' as const), which: fc.nat() }) },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

const asked = fc.record({
  validAt: maybe(instant),
  believedAt: maybe(instant),
  as: fc.constantFrom(null, ...AGENTS),
});
const question = fc.oneof(
  fc.record({
    what: fc.constant('walk' as const),
    from: memoryId,
    asked,
    depth: fc.integer({ min: 1, max: 5 }),
    limit: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant(40)),
    agents: maybe(fc.subarray(AGENTS)),
  }),
  fc.record({
    what: fc.constant('timeline' as const),
    from: memoryId,
    asked,
    since: maybe(instant),
    until: maybe(instant),
    limit: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({
    what: fc.constant('paths' as const),
    from: memoryId,
    to: memoryId,
    asked,
    depth: fc.integer({ min: 1, max: 7 }),
    results: fc.integer({ min: 1, max: 50 }),
  }),
);
type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

const viewerOf = (as: string | null): Viewer => (as === null ? OPERATOR : tenant(as));
const sees = (as: string | null, id: string) =>
  as === null || [null, as].includes(MEMORIES.find((memory) => memory.id === id)!.privateTo);

/** One store and the model beside it. */
class Histories {
  readonly model = new GraphModel(MEMORIES);
  readonly one: Replica = replica('a', START_MS);

  async begin(): Promise<void> {
    for (const { id, title, privateTo } of MEMORIES) {
      const metadata = privateTo === null ? {} : { agent_id: privateTo, scope: 'private' };
      await this.one.run(storing({ id, title, metadata, expires_at: null, tier: 'long' }));
    }
  }

  async take(step: Action): Promise<void> {
    this.one.nowMs += STEP_MS;
    const at = instantFromMs(this.one.nowMs);
    if (step.what === 'link') return this.link(step, at);
    const keys = this.model.keys();
    if (keys.length === 0) return;
    const key = keys[step.which % keys.length]!;
    const [sourceId, targetId, relation] = key.split('|') as [string, string, Relation];
    if (step.what === 'drop') {
      await this.one.run({ kind: 'drop-links', sourceId, targetId, relation, viewer: OPERATOR });
      this.model.drop(key);
      return;
    }
    const link = { source_id: sourceId, target_id: targetId, relation };
    const ended = await this.one.store.execute({
      ...({ kind: 'invalidate-link', link, validUntil: step.until } as const),
      ...{ viewer: OPERATOR, by: 'ai:ender' },
    });
    // An end before the beginning is refused, and a second one changes nothing.
    if (ended.ok && ended.value.change === 'invalidated') {
      this.model.end(key, at, ended.value.link.valid_until!);
    }
  }

  private async link(step: Extract<Action, { what: 'link' }>, at: string): Promise<void> {
    if (step.source === step.target) return;
    const asked = { valid_from: step.from, valid_until: step.until };
    const link = {
      ...linking(step.source, step.target).link,
      ...{ relation: step.relation, observed_by: step.by, created_at: at },
      ...asked,
    };
    const made = await this.one.store.execute({
      ...({ kind: 'create-link', link, asked } as const),
      ...{ viewer: OPERATOR, by: 'ai:linker' },
    });
    // A link that holds stays as it is.
    if (!made.ok || made.value.change !== 'created') return;
    this.model.link(link, {
      ...{ at, what: 'linked', observedBy: step.by },
      ...{ from: step.from, until: step.until },
    });
  }

  async ask(asking: Question): Promise<void> {
    const { what, from, asked: about } = asking;
    const { validAt, believedAt, as } = about;
    const scope = { id: from, viewer: viewerOf(as), now: instantFromMs(this.one.nowMs) };
    const moment = { validAt, believedAt };
    if (what === 'walk') {
      const { depth, limit, agents } = asking;
      const bounds = { maxDepth: depth, limit, allowedAgents: agents, relations: null };
      const answer = await this.one.store.query({ kind: 'walk-graph', ...scope, moment, ...bounds });
      if (!sees(as, from)) return isHidden(answer);
      const expected = this.model.walk(from, about, { depth, limit, agents });
      assert.deepEqual(answer.ok && answer.value.memories, expected);
    } else if (what === 'timeline') {
      const { since, until, limit } = asking;
      const span = { since, until, limit };
      const answer = await this.one.store.query({ kind: 'graph-timeline', ...scope, believedAt, ...span });
      if (!sees(as, from)) return isHidden(answer);
      assert.deepEqual(answer.ok && answer.value.events, this.model.timeline(from, about, span));
    } else {
      const { to, depth, results } = asking;
      const bounds = { targetId: to, maxDepth: depth, maxResults: results };
      const answer = await this.one.store.query({ kind: 'find-paths', ...scope, moment, ...bounds });
      if (!sees(as, from) || !sees(as, to)) return isHidden(answer);
      assert.deepEqual(
        answer.ok && answer.value.paths,
        this.model.paths(from, to, about, { depth, results }),
      );
    }
  }
}

function isHidden(answer: { readonly ok: boolean; readonly error?: { readonly code: string } }): void {
  assert.equal(answer.ok ? null : answer.error?.code, 'NOT_FOUND');
}

describe('the knowledge graph', { timeout: 120_000 }, () => {
  it('answers as a plain model does, on both axes of time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { minLength: STEPS / 2, maxLength: STEPS, size: 'max' }),
        fc.array(question, { minLength: 30, maxLength: 30 }),
        async (actions, questions) => {
          const histories = new Histories();
          await histories.begin();
          for (const step of actions) await histories.take(step);
          for (const asking of questions) await histories.ask(asking);
          await histories.one.store.close();
        },
      ),
      { numRuns: Number(process.env['GRAPH_RUNS'] ?? 30), endOnFailure: true },
    );
  });
});
