import { type Deciding, type DecisionContext, type Done, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { Kind, Subject } from '../kinds/kind.js';
import type { KindNamespace } from '../log/ranges.js';
import { acceptRow, dropSuspects, noteSuspects, recountDigest, recountQuotas } from './mutations.js';
import { versionOf } from './payloads.js';
import { type StoredSubject, storedSubject } from './reads.js';

/** Marks subjects whose rows were found damaged; they are repaired in the background. Local, not replicated. */
export interface NoteSuspects {
  readonly kind: 'note-suspects';
  readonly subjects: readonly Subject[];
}

/** Ends the repair of suspects. */
export interface SettleSuspects {
  readonly kind: 'settle-suspects';
  /** Subjects whose rows match the log. */
  readonly sound: readonly Subject[];
  /** Subjects whose contents neither the log nor a peer knows: a readable row is accepted as it is. */
  readonly accept: readonly Subject[];
}

/** What `settle-suspects` answers. */
export interface SettleSuspectsOutcome {
  /** Subjects whose row was accepted as it was. */
  readonly accepted: readonly Subject[];
  /** Subjects that stay suspect, because their row cannot be read or their concurrent versions cannot be merged. */
  readonly kept: readonly Subject[];
}

/** Marks subjects whose rows were found damaged. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
export function* decideNoteSuspects({ subjects }: NoteSuspects): Deciding<Done> {
  return decided({}, [noteSuspects({ subjects })]);
}

/**
 * Removes subjects from the suspects. When no source knows the contents of a row, a readable row is accepted as it is;
 * an unreadable one stays suspect, and every command about it fails.
 */
export function* decideSettleSuspects(
  { sound, accept }: SettleSuspects,
  { kinds }: DecisionContext,
): Deciding<SettleSuspectsOutcome> {
  const accepted: Subject[] = [];
  const kept: Subject[] = [];
  const sums: KindNamespace[] = [];
  for (const subject of accept) {
    const stored = yield* storedSubject(subject);
    // Concurrent versions cannot be merged when the log lost the text of one, whatever the row says.
    const isMergeable = stored.siblings.length === 0;
    const usable = isUsable(kinds.of(subject.kind), subject.id, stored);
    if (!usable || !isMergeable) kept.push(subject);
    if (!usable || (stored.whole && !isMergeable)) continue;
    if (stored.row === null && stored.tombstone === null) continue;
    accepted.push(subject);
    for (const namespace of new Set([stored.row?.namespace, stored.counted])) {
      if (namespace != null) sums.push({ kind: subject.kind, namespace });
    }
  }
  const settled = [...sound, ...accept.filter((subject) => !kept.includes(subject))];
  return decided({ accepted, kept }, [
    ...accepted.map((subject): Mutation => acceptRow({ ...subject })),
    ...sums.flatMap((sum): Mutation[] => [
      recountDigest({ ...sum }),
      recountQuotas({ namespace: sum.namespace }),
    ]),
    dropSuspects({ subjects: settled }),
  ]);
}

/** True when commands can run: there is no row, or other nodes could read the row too. */
function isUsable(kind: Kind, id: string, { exists, row }: StoredSubject): boolean {
  if (!exists) return true;
  if (row === null) return false;
  const { hlc, origin, origin_seq: seq } = row.stamp;
  const payload = kind.payload.text(row.image);
  const source = { subject: id, hlc, origin, seq, namespace: row.namespace, seen: {}, payload };
  return versionOf(kind, 'image', { ...source, kind: '' }) !== null;
}
