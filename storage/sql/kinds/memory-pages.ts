import type { Crypto } from '../../../protocol/base/seams.js';
import { memoryKind, memoryPayload } from '../../../protocol/memory/memory-kind.js';
import { isDigest } from '../digests.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import { isStampedBy, OPERATION_COLUMNS, type OperationColumns } from './scrub-row.js';
import type { SubjectPages } from './subject-table.js';

type Scrubbed = SqlRow & OperationColumns & { readonly digest: unknown };

/** The memories for readers. */
export const memoryPages: SubjectPages = {
  digestsSql: `SELECT id AS subject, digest FROM memories
    WHERE ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)`,
  exists: (statements, id) => statements.get('SELECT 1 FROM memories WHERE id = ?').get(id) !== undefined,
  // By row number, so the pages follow the file order.
  scrub: (statements, crypto, { after, limit }) => {
    const rows = statements
      .get(
        `SELECT ${SELECT_ROW}, m.digest, n.name AS counted, ${OPERATION_COLUMNS},
           EXISTS (SELECT 1 FROM memories_fts_docsize d WHERE d.id = m.rid) AS indexed
         FROM memories m LEFT JOIN namespaces n ON n.ns_id = m.ns_id
           LEFT JOIN operations o ON o.origin = m.origin AND o.origin_seq = m.origin_seq
         WHERE m.rid > ? ORDER BY m.rid LIMIT ?`,
      )
      .all(Number(after ?? 0), limit) as Scrubbed[];
    const damaged = rows.filter((row) => !isWhole(row, crypto));
    const suspects = damaged.map((row) => ({ kind: memoryKind.name, id: String(row['id']) }));
    const last = rows.at(-1);
    const next = rows.length < limit || last === undefined ? null : String(last['rid']);
    return { looked: rows.length, suspects, next };
  },
  textOf: (statements, { subject, origin, seq, namespace }) => {
    const row = statements
      .get(
        `SELECT ${SELECT_ROW} FROM memories m
         WHERE m.id = ? AND m.origin = ? AND m.origin_seq = ? AND m.namespace = ?`,
      )
      .get(subject, origin, seq, namespace);
    if (row === undefined) return null;
    try {
      return memoryPayload(memoryFromSql(row as SqlRow));
    } catch {
      return null;
    }
  },
};

function isWhole(row: Scrubbed, crypto: Crypto): boolean {
  try {
    const memory = memoryFromSql(row);
    const payload = memoryPayload(memory);
    return (
      isDigest(row.digest, crypto.sha256(`${memory.id}\n${payload}`)) &&
      row.payload_hash === crypto.sha256Hex(payload) &&
      isStampedBy(row as never) &&
      row['counted'] === memory.namespace &&
      row['indexed'] === 1
    );
  } catch {
    return false;
  }
}
