import type { Origin } from '../../../protocol/base/meanings.js';
import { wordsOf } from '../../../protocol/kinds/kind.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import type { Answers } from '../../../protocol/release.js';
import type { SupersededPayloads } from '../../../protocol/replication/repair-queries.js';
import type { QueryParts } from './query-parts.js';

interface Row {
  readonly commit_sequence: number;
  readonly origin: Origin;
  readonly seq: number;
  readonly superseded: number;
}

/** True for two operations that make versions of one kind whose superseded payloads are dropped. */
function isOfOneKind({ all }: Kinds, a: string, b: string): string {
  const alternatives = all
    .filter(({ superseded }) => superseded === 'dropped')
    .map((kind) => {
      const words = wordsOf(kind, 'image', 'removal').map((word) => `'${word}'`);
      const list = `(${words.join(', ')})`;
      return `(${a}.kind IN ${list} AND ${b}.kind IN ${list})`;
    });
  return `(${alternatives.join(' OR ')})`;
}

/** True for an operation `o` whose text another version superseded before `@before`, and that no conflict lists. */
const isSuperseded = (
  kinds: Kinds,
): string => `o.payload IS NOT NULL AND o.parked IS NULL AND o.kind NOT IN (SELECT value FROM json_each(@final))
  AND EXISTS (SELECT 1 FROM operations n WHERE n.subject = o.subject AND n.hlc < @before AND n.parked IS NULL
    AND ${isOfOneKind(kinds, 'n', 'o')} AND EXISTS (SELECT 1 FROM json_each(iif(json_valid(n.seen), n.seen, '{}')) v
      WHERE v.key = o.origin AND CASE v.type WHEN 'integer' THEN CAST(v.value AS INTEGER) ELSE 0 END >= o.origin_seq))
  AND NOT EXISTS (SELECT 1 FROM conflicts c WHERE c.origin = o.origin AND c.origin_seq = o.origin_seq)
  AND NOT EXISTS (SELECT 1 FROM siblings s WHERE s.subject = o.subject AND s.origin = o.origin
    AND s.origin_seq = o.origin_seq)`;

const finalWords = (kinds: Kinds): string => JSON.stringify(kinds.all.flatMap((kind) => kind.final));

/** Operations that are looked at for their size. */
const SIZED_MAX = 100_000;

/** The number and the size of such texts among the oldest of the log. */
export function supersededSize(
  { statements, kinds }: Pick<QueryParts, 'statements' | 'kinds'>,
  before: string,
): { readonly memories: number; readonly bytes: number } {
  return statements
    .get(
      `SELECT count(*) AS memories, coalesce(sum(length(o.payload)), 0) AS bytes
       FROM (SELECT * FROM operations ORDER BY commit_sequence LIMIT ${SIZED_MAX}) o WHERE ${isSuperseded(kinds)}`,
    )
    .get({ before, final: finalWords(kinds) }) as { readonly memories: number; readonly bytes: number };
}

/** Payloads of versions that another version superseded long ago, that every member has, and that no conflict lists. */
export function supersededPayloads(
  { statements, kinds }: QueryParts,
  { before, everyoneHas, after, limit }: SupersededPayloads,
): Answers['superseded-payloads'] {
  const rows = statements
    .get(
      `SELECT o.commit_sequence, o.origin, o.origin_seq AS seq,
         ${isSuperseded(kinds)} AS superseded
       FROM operations o WHERE o.commit_sequence > @after ORDER BY o.commit_sequence LIMIT @limit`,
    )
    .all({ before, after, limit, final: finalWords(kinds) }) as Row[];
  const places = rows
    .filter(({ superseded }) => superseded === 1)
    .filter(({ origin, seq }) => everyoneHas === null || (everyoneHas[origin] ?? 0) >= seq)
    .map(({ origin, seq }) => ({ origin, seq }));
  const last = rows.at(-1);
  return { places, next: rows.length < limit || last === undefined ? null : last.commit_sequence };
}
