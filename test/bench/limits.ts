import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '../../protocol/release.js';
import { databasePath, openBenchDatabase, storeCommand } from './database.js';
import { titlePrefix } from './load.js';

/** What the machine allows, taken in the same run as the figures that it bounds. */

/** Appends of one 4 KiB page with a sync each, per second: what the disk takes. */
export function syncsPerSecond(folder: string, durationMs: number): number {
  const file = openSync(join(folder, 'syncs'), 'w');
  const page = Buffer.alloc(4096, 1);
  try {
    return perSecond(durationMs, () => {
      writeSync(file, page);
      fdatasyncSync(file);
      return 1;
    });
  } finally {
    closeSync(file);
  }
}

/** Makes groups of the `store` workload's commands. */
export function storeBatches(batchRows: number): () => Command[] {
  const prefix = titlePrefix();
  const expiresAt = new Date(Date.now() + 21_600_000).toISOString();
  let n = 0;
  return () =>
    Array.from({ length: batchRows }, () => {
      n += 1;
      const content = `capacity envelope probe worker=0 seq=${n} envelope probe keyword token `;
      return storeCommand({
        title: `${prefix}-${n}`,
        content: content.padEnd(120, 'x'),
        namespace: 'bench',
        tier: 'short',
        expires_at: expiresAt,
      });
    });
}

/** Rows per second of the service's own writer in a bare loop: so many to a transaction, each commit synced. */
export function groupCommitRate(folder: string, batchRows: number, durationMs: number): number {
  const database = openBenchDatabase(databasePath(folder), 'FULL');
  const batch = storeBatches(batchRows);
  try {
    const write = () => {
      database.write(batch());
      return batchRows;
    };
    // The first rounds compile and grow the file.
    perSecond(durationMs / 3, write);
    return perSecond(durationMs, write);
  } finally {
    database.close();
  }
}

/** Calls per second of a synchronous act; `act` says how many each call was worth. */
export function perSecond(durationMs: number, act: () => number): number {
  const start = performance.now();
  let done = 0;
  for (;;) {
    done += act();
    const elapsedMs = performance.now() - start;
    if (elapsedMs >= durationMs) return (done * 1000) / elapsedMs;
  }
}
