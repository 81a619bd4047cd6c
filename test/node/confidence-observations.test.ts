import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { confidenceObservations } from '../../node/runtime/confidence-duty.js';
import type { DutyParts } from '../../node/runtime/duty.js';
import { instantAfter } from '../../protocol/base/time.js';
import { CONFIDENCE_OBSERVATIONS_MAX } from '../../protocol/confidence/limits.js';
import type { ObservedRecall } from '../../protocol/confidence/observe.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { storing } from '../support/memories.js';
import { openTestNode } from '../support/test-node.js';
import { openBeside } from '../support/test-store.js';
import { run } from '../surface/cli/cli-process.js';

const NOW = '2026-07-28T12:00:00.000Z';
const OPERATOR = { all: true, agentId: null, asNamespace: null };

describe('observed confidences', { timeout: 120_000 }, () => {
  const recallOf = (id: string, days: number, count = 1): ObservedRecall => {
    const observedAt = instantAfter(NOW, -days * 86_400);
    const memory = { id, namespace: 'global', stated: 1, isAtom: false, corroborations: 0, writtenAt: NOW };
    return { agentId: 'ai:x', observedAt, memories: Array.from({ length: count }, () => memory) };
  };

  async function observing(settings: Parameters<typeof openTestNode>[0] = {}) {
    const node = await openTestNode(settings);
    const { store } = node.services;
    const stored = await store.execute(storing({ title: 'ferry', tier: 'long', expires_at: null }));
    assert.ok(stored.ok);
    const observe = async (...recalls: ObservedRecall[]) =>
      assert.ok((await store.execute({ kind: 'observe-confidence', recalls })).ok);
    const total = async (days = 3650) => {
      const since = instantAfter(NOW, -days * 86_400);
      const found = await store.query({
        ...{ kind: 'calibrate-confidence', since, agentId: null, viewer: OPERATOR, now: NOW },
      });
      assert.ok(found.ok);
      return found.value.total;
    };
    return { ...node, store, id: stored.value.stored.id, observe, total };
  }

  const roundOf = ({ services: { store, settings, log } }: Awaited<ReturnType<typeof observing>>) =>
    confidenceObservations.run({
      ...{ store, settings, log, clock: { nowMs: () => Date.parse(NOW) } },
    } as unknown as DutyParts);

  it('are forgotten after their days, and not when they are kept for ever', async () => {
    const node = await observing();
    await node.observe(recallOf(node.id, 31, 250), recallOf(node.id, 29));
    assert.equal(await node.total(), 251);
    const round = roundOf(node);
    assert.deepEqual([await round(), await node.total()], [{ afterMs: 0 }, 51]);
    assert.deepEqual([await round(), await node.total()], [null, 1]);
    assert.deepEqual([await round(), await node.total()], [null, 1]);
    await node.close();
    const keeping = await observing({ confidenceShadowDays: null });
    await keeping.observe(recallOf(keeping.id, 400));
    assert.deepEqual([await roundOf(keeping)(), await keeping.total()], [null, 1]);
    await keeping.close();
  });

  it('are bounded: the oldest go', async () => {
    const node = await observing();
    await node.observe(recallOf(node.id, 3, 5));
    for (let batch = 0; batch < 10; batch += 1)
      await node.observe(recallOf(node.id, 1, CONFIDENCE_OBSERVATIONS_MAX / 10));
    assert.deepEqual([await node.total(), await node.total(2)], [100_000, 100_000]);
    await node.close();
  });

  it('of memories that are gone show nothing, and harm nothing', async () => {
    const node = await observing();
    await node.observe(recallOf('00000000-0000-4000-8000-000000000000', 1));
    assert.equal(await node.total(), 0);
    await node.close();
  });

  it('come from commands too, and are reported by another one', async () => {
    const home = temporaryFolder('confidence');
    const env = { SVC_CONFIDENCE_SHADOW: '1', SVC_AGENT_ID: 'ai:me' };
    const typed = async (...words: string[]) => {
      const done = await run(home, words, { env });
      assert.equal(done.code, 0, done.err);
      return done.out;
    };
    await typed('store', '--title', 'ferry', '--content', 'at noon', '--confidence', '0.9');
    await typed('recall', 'ferry');
    const table = await typed('calibrate', 'confidence');
    assert.match(table, /^NAMESPACE .*\nglobal +cli +1 +0\.5 +0\.5 +0\.9 .*\n1 observations in 30 days\n$/);
    for (const words of [['--json'], ['--output-format', 'json'], ['--output-format=json', '--days', '1']]) {
      const { report } = JSON.parse(await typed('calibrate', 'confidence', ...words)) as {
        report: { total_observations: number };
      };
      assert.equal(report.total_observations, 1);
    }
    for (const words of [
      ['--days', '0'],
      ['--days', 'x'],
      ['--output-format', 'xml'],
      ['--from-shadow', 'false'],
    ]) {
      const refused = await run(home, ['calibrate', 'confidence', ...words], { env });
      assert.equal(refused.code, 2, `${words.join(' ')}: ${refused.out}${refused.err}`);
    }
    const db = openBeside({ home });
    assert.deepEqual(db.prepare('SELECT DISTINCT kind FROM operations').pluck().all(), ['store']);
    db.close();
  });
});
