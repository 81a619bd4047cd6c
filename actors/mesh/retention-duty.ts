import { formatHlc } from '../../protocol/base/hlc.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';
import type { PeerRecord } from './peer-record.js';

export interface RetentionParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly records: () => readonly PeerRecord[];
  /** For how long a superseded payload is kept after the version that superseded it. */
  readonly keptMs: number;
  readonly stopping: () => boolean;
}

const ROUND_MS = 6 * 3_600_000;
const RETRY_MS = 600_000;
const PAGE_OPERATIONS = 500;

/** Lets go superseded payloads that every member has durably. While a member is silent, all are kept. */
export async function retentionRound(parts: RetentionParts): Promise<NextRound> {
  const { store, clock, records, keptMs, stopping } = parts;
  const everyoneHas = hadByAll(records());
  if (everyoneHas === 'unknown') return { afterMs: RETRY_MS };
  const before = formatHlc(Math.max(0, clock.nowMs() - keptMs), 0);
  for (let after = 0; !stopping(); ) {
    const found = await store.query(
      { kind: 'superseded-payloads', before, everyoneHas, after, limit: PAGE_OPERATIONS },
      { lane: 'background' },
    );
    if (!found.ok) return { afterMs: RETRY_MS };
    const { places, next } = found.value;
    if (places.length > 0) {
      const dropped = await store.execute({ kind: 'drop-payloads', places }, { lane: 'background' });
      if (!dropped.ok) return { afterMs: RETRY_MS };
    }
    if (next === null) break;
    after = next;
  }
  return { afterMs: ROUND_MS };
}

/** What all members have; null for a node without members, `unknown` while a member has not answered. */
export function hadByAll(
  records: readonly Pick<PeerRecord, 'has' | 'replication' | 'lastAnswerAtMs'>[],
): Have | null | 'unknown' {
  let all: Record<string, number> | null = null;
  for (const { has, replication, lastAnswerAtMs } of records) {
    if (lastAnswerAtMs === null) return 'unknown';
    const theirs: Record<string, number> = { ...has };
    // Of the own operations, only those count that the member took, or knew by their hash.
    if (replication.origin !== null) theirs[replication.origin] = replication.proven;
    const known: Record<string, number> = all ?? theirs;
    all = Object.fromEntries(
      Object.entries(known).map(([origin, seq]) => [origin, Math.min(seq, theirs[origin] ?? 0)]),
    );
  }
  return all;
}
