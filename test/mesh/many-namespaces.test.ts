// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { RANGE_NAMESPACES_BYTES_MAX } from '../../protocol/base/limits.js';
import type { PeerReply } from '../../protocol/wire/transport.js';
import type { EntropyNode } from '../support/entropy-mesh.js';
import {
  type Asked,
  compares,
  furnish,
  isNamespaces,
  PATIENT,
  repairAmong,
  rowsOf,
  startPair,
} from '../support/many-namespaces.js';
import { aMemory, storing } from '../support/memories.js';
import { until } from '../support/wait.js';

const started: ReturnType<typeof startPair>[] = [];
function start(...options: Parameters<typeof startPair>): ReturnType<typeof startPair> {
  const pair = startPair(...options);
  started.push(pair);
  return pair;
}
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop();
});

const reply = (fields: object): PeerReply => ({
  kind: 'answer',
  status: 200,
  body: new TextEncoder().encode(JSON.stringify({ ...fields, wall_clock: new Date().toISOString() })),
});

describe('nodes with very many namespaces', () => {
  it('find and repair one lost row among 10,000 namespaces, with small questions', async (context) => {
    const { tookMs, largest } = await repairAmong(start(), 10_000);
    context.diagnostic(`repaired after ${tookMs} ms; the largest question had ${largest} bytes`);
  });

  it('send what lies in a full bucket in several pages', async () => {
    const { a, b, asked } = start();
    const memory = aMemory({ title: 'there', namespace: 'zone' });
    await a.replica.run(storing(memory));
    await until('both have the row', () => rowsOf(a) === rowsOf(b));
    for (const each of [a, b]) furnish(each, 4000);
    // Digests that differ in every bucket, at the end of the order.
    b.db.prepare("UPDATE namespace_digests SET digest = zeroblob(32) WHERE namespace = 'zone'").run();
    const insert = b.db.prepare("INSERT INTO namespace_digests VALUES ('memory', ?, zeroblob(32), 1)");
    for (let index = 0; index < 150; index += 1) insert.run(`zz/${index}`);
    const left = () =>
      b.db.prepare("SELECT count(*) FROM namespace_digests WHERE namespace LIKE 'zz/%'").pluck().get();
    await until('what no row supports is gone', () => left() === 0, PATIENT);
    await compares(b, 'equal', PATIENT);
    const pages = asked.filter(isNamespaces);
    assert.ok(pages.some(({ ask }) => ask.kind === 'namespaces' && ask.after !== null));
    assert.ok(Math.max(...pages.map(({ bytes }) => bytes)) < 2 * RANGE_NAMESPACES_BYTES_MAX);
    assert.deepEqual(
      a.replica.audit().filter((line) => !line.includes('team/')),
      [],
    );
  });

  it('compare only what both may hold', async () => {
    const { a, b, asked } = start({ scopes: { b: ['open/**'] } });
    for (const [node, namespaces] of [
      [a, ['open/x', 'closed']],
      [b, ['open/y', 'private']],
    ] as const) {
      for (const namespace of namespaces) await node.replica.run(storing({ title: namespace, namespace }));
    }
    const sharedIn = ({ db }: EntropyNode) =>
      db.prepare("SELECT count(*) FROM memories WHERE namespace LIKE 'open/%'").pluck().get();
    await until('both have what both may hold', () => sharedIn(a) === 2 && sharedIn(b) === 2);
    for (const each of [a, b]) await compares(each, 'equal');
    const before = asked.length;
    for (const each of [a, b]) await compares(each, 'equal');
    assert.deepEqual(asked.slice(before).filter(isNamespaces), []);
  });
});

describe('a peer that lies about its namespaces', () => {
  const all = Object.fromEntries(Array.from({ length: 256 }, (_, bucket) => [bucket, 'f'.repeat(64)]));
  const lying = (namespaces: (asked: Asked) => PeerReply) => {
    return start({
      answer: (question) => {
        if (question.to !== 'http://b') return null;
        const log = { have: {}, still: true };
        if (question.ask.kind === 'buckets') return reply({ ...log, within: null, buckets: { memory: all } });
        return question.ask.kind === 'namespaces'
          ? namespaces(question)
          : reply({ subjects: [], ranges: [], next: null });
      },
      intervalMs: 300,
    });
  };

  it('is sent no more pages than this node has, and is believed no more names than an answer holds', async () => {
    let names: string[] = [];
    const { a, asked } = lying(() => reply({ have: {}, still: true, differing: names }));
    furnish(a, 4000);
    await compares(a, 'equal');
    const toLiar = () => asked.filter(({ to, ask }) => to === 'http://b' && ask.kind !== 'operations');
    const before = toLiar().length;
    await compares(a, 'equal');
    const [pages, questions] = [toLiar().slice(before).filter(isNamespaces).length, toLiar().length - before];
    assert.ok(pages <= 16, `${pages} pages in ${questions} questions`);
    names = Array.from({ length: 64 }, (_, index) => `invented/${index}`);
    await compares(a, 'unequal');
    assert.equal(a.mesh.status().peers[0]!.differing.length, 10);
    names = Array.from({ length: 65 }, (_, index) => `invented/${index}`);
    await compares(a, 'failed');
  });
});

describe('comparisons that fail', () => {
  it('are shown after three in a row, are warned of once, and forgotten when one is completed', async () => {
    let refuses = true;
    const tooLarge: PeerReply = { kind: 'answer', status: 413, body: new Uint8Array() };
    const { a } = start({ answer: ({ to }) => (refuses && to === 'http://b' ? tooLarge : null) });
    const peer = () => a.mesh.status().peers[0]!;
    const failures = () => a.outcomes().filter((outcome) => outcome === 'failed').length;
    await until('two comparisons failed', () => failures() >= 2);
    if (failures() === 2) assert.equal(peer().comparisonProblem, null);
    await until('five comparisons failed', () => failures() >= 5);
    assert.equal(peer().comparisonProblem, 'refused:too_large: HTTP 413');
    assert.ok(peer().comparisonsFailed >= 5);
    const warnings = a.log.lines.filter(({ fields }) => fields['reason'] === 'refused:too_large: HTTP 413');
    assert.deepEqual(
      warnings.map(({ level, fields }) => [level, fields['failed']]),
      [['warn', 3]],
    );
    refuses = false;
    await compares(a, 'equal');
    assert.deepEqual([peer().comparisonsFailed, peer().comparisonProblem], [0, null]);
  });
});
