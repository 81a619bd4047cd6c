import { type Failure, failure } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { digestOfText, type Reading } from '../decide/reads.js';
import type { SeenRow } from '../decide/rows.js';
import { linkId } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { isVisible } from '../memory/access.js';
import { type Changes, linkChanges, memoryChanges } from '../memory/changes.js';
import type { Memory } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';

/** The rows that a command looked at by their ids, or changes, as far as its caller sees them. */
export function* seenRows(changes: Changes, viewer: Viewer): Reading<readonly SeenRow[]> {
  const memories = new Map<string, Memory>();
  for (const row of changes.rows.values()) if (isVisible(row, viewer)) memories.set(row.id, row);
  for (const { before } of memoryChanges(changes.mutations))
    if (before !== null) memories.set(before.id, before);
  const seen: SeenRow[] = [];
  for (const { id, version, ...row } of memories.values()) {
    const text = memoryKind.payload.text({ ...row, id, version, ...MOVED_BY_READS });
    seen.push({ kind: 'memory', id, version, digest: yield* digestOfText({ text }) });
  }
  for (const { before } of linkChanges(changes.mutations)) {
    if (before === null) continue;
    const text = linkKind.payload.text(before);
    seen.push({ kind: 'link', id: linkId(before), version: 0, digest: yield* digestOfText({ text }) });
  }
  return seen.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

/** An update of these has another version. */
const MOVED_BY_READS = { tier: 'mid', expires_at: null, updated_at: '' } as const;

const placeOf = ({ kind, id }: SeenRow): string => `${kind} ${id}`;

/** Why the rows of an approved action are not those that it was requested about; null when they are. */
export function changedSince(
  then: readonly SeenRow[],
  now: readonly SeenRow[],
  pendingId: string,
): Failure | null {
  const known = new Map(then.map((row) => [placeOf(row), row]));
  const isSame = (row: SeenRow) => {
    const before = known.get(placeOf(row));
    return before?.version === row.version && before.digest === row.digest;
  };
  if (now.length === then.length && now.every(isSame)) return null;
  const message =
    then.length === 0
      ? 'the request does not say which text of its memories it was about; reject it and send a new one'
      : 'a memory that the action is about has changed since it was requested; reject it and send a new request';
  return failure('VERSION_CONFLICT', message, { status: 'conflict', pending_id: pendingId });
}
