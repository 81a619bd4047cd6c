import { join } from 'node:path';
import { systemCrypto } from '../../node/seams.js';
import { headerHash, type OperationHeader } from '../../protocol/log/operation-log.js';
import type { VerifiedOperation } from '../../protocol/log/wire-operation.js';
import { Reader } from '../../storage/sql/reader.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { openBenchDatabase } from './database.js';

const PAGE = 1000;
const OPERATIONS_MAX = 20_000;

/**
 * Operations per second that one database takes from another in a bare loop, each page in one transaction with a sync:
 * reading, hashing and applying, without a network, signatures or other threads.
 */
export function applyRate(from: string, folder: string, peerId: string): number {
  const source = openReader(from);
  const target = openBenchDatabase(join(folder, 'apply.db'), 'FULL');
  const reader = new Reader(source);
  try {
    const known = reader.run({ kind: 'known-origins' });
    if (!known.ok) throw new Error(known.error.message);
    const origins = Object.keys(known.value.heads).filter((origin) => origin.startsWith(`${peerId}/`));
    let have: Record<string, number> = {};
    let applied = 0;
    const start = performance.now();
    while (applied < OPERATIONS_MAX) {
      const page = reader.run({ kind: 'read-operations', have, origins, limit: PAGE, bytesMax: 2 ** 24 });
      if (!page.ok) throw new Error(page.error.message);
      const operations = page.value.operations.map(
        (operation): VerifiedOperation => ({
          ...operation,
          hash: headerHash(operation as OperationHeader, systemCrypto),
          refusal: null,
          scope: null,
        }),
      );
      if (operations.length === 0) break;
      target.write([{ kind: 'apply-operations', from: peerId, operations, heads: [], nonce: null }]);
      have = Object.fromEntries(Object.entries(page.value.ends).map(([origin, { seq }]) => [origin, seq]));
      applied += operations.length;
    }
    return (applied * 1000) / (performance.now() - start);
  } finally {
    source.close();
    target.close();
  }
}
