import assert from 'node:assert/strict';
import { RANGE_NAMESPACES_BYTES_MAX, REQUEST_BODY_BYTES_MAX } from '../../protocol/base/limits.js';
import type { RangesQuestion } from '../../protocol/log/ranges.js';
import { RANGES_PATH } from '../../protocol/wire/message-paths.js';
import type { PeerReply, PeerRequest } from '../../protocol/wire/transport.js';
import { type EntropyNode, startEntropyMesh } from './entropy-mesh.js';
import { aMemory, storing } from './memories.js';
import { until } from './wait.js';

export interface Asked {
  readonly to: string;
  readonly ask: RangesQuestion;
  readonly bytes: number;
}

/** Two nodes that keep their questions, and refuse a body like the HTTP surface does. */
export function startPair(
  options: Omit<NonNullable<Parameters<typeof startEntropyMesh>[1]>, 'intercept'> & {
    readonly answer?: (asked: Asked) => PeerReply | null;
  } = {},
) {
  const asked: Asked[] = [];
  const intercept = (to: string, { path, body }: PeerRequest): PeerReply | null => {
    if (path !== RANGES_PATH || body === null) return null;
    const { ask } = JSON.parse(new TextDecoder().decode(body)) as { ask: RangesQuestion };
    const question = { to, ask, bytes: body.length };
    asked.push(question);
    if (body.length > REQUEST_BODY_BYTES_MAX) return { kind: 'answer', status: 413, body: new Uint8Array() };
    return options.answer?.(question) ?? null;
  };
  const mesh = startEntropyMesh(['a', 'b'], { ...options, intercept });
  return { a: mesh.node('a'), b: mesh.node('b'), asked, stop: () => mesh.stop() };
}

const longName = (index: number) => `team/${index}/${'n'.repeat(200 - String(index).length)}`;

/** Gives a node digests of namespaces without the rows, which no comparison reads while the digests are equal. */
export function furnish({ db }: EntropyNode, count: number): void {
  const insert = db.prepare("INSERT INTO namespace_digests VALUES ('memory', ?, ?, 1)");
  db.transaction(() => {
    for (let index = 0; index < count; index += 1) {
      insert.run(longName(index), Buffer.alloc(32, index % 255));
    }
  })();
}

export const rowsOf = ({ db }: EntropyNode) =>
  JSON.stringify(db.prepare('SELECT id, title, content, namespace FROM memories ORDER BY id').all());

/** Loses the row of a memory, and what the namespace's digest says of it. */
function lose({ db }: EntropyNode, id: string): void {
  db.prepare(
    `UPDATE namespace_digests SET digest = zeroblob(32)
     WHERE kind = 'memory' AND namespace = (SELECT namespace FROM memories WHERE id = ?)`,
  ).run(id);
  db.prepare('DELETE FROM memories WHERE id = ?').run(id);
}

export const PATIENT = { withinMs: 90_000 } as const;
export const isNamespaces = ({ ask }: Asked) => ask.kind === 'namespaces';

export async function compares(node: EntropyNode, outcome: string, options = {}): Promise<void> {
  const before = node.outcomes().length;
  await until(`a comparison is ${outcome}`, () => node.outcomes().slice(before).includes(outcome), options);
}

/** Loses one row among very many namespaces; answers how long it took to come back, and the largest question. */
export async function repairAmong(
  { a, b, asked }: ReturnType<typeof startPair>,
  count: number,
): Promise<{ readonly tookMs: number; readonly largest: number }> {
  const lost = aMemory({ title: 'lost', namespace: longName(count) });
  await a.replica.run(storing(lost));
  await until('both have the row', () => rowsOf(a) === rowsOf(b));
  for (const each of [a, b]) furnish(each, count);
  await compares(b, 'equal', PATIENT);
  const before = rowsOf(b);
  lose(b, lost.id);
  assert.notEqual(rowsOf(b), before);
  const tookMs = Math.round(await until('the row is repaired', () => rowsOf(b) === before, PATIENT));
  await compares(b, 'equal', PATIENT);
  const largest = Math.max(...asked.map(({ bytes }) => bytes));
  assert.ok(largest < 2 * RANGE_NAMESPACES_BYTES_MAX, `a question had ${largest} bytes`);
  assert.ok(![...a.outcomes(), ...b.outcomes()].includes('failed'));
  return { tookMs, largest };
}
