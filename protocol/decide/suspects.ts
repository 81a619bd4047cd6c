import type { Outcomes } from '../commands.js';
import type { NoteSuspects, SettleSuspects } from '../mesh/scrub-terms.js';
import { memoryPayload } from '../operation-log.js';
import { versionOf } from '../parse-payload.js';
import { type Deciding, decided, type Mutation, type StoredSubject } from './decision.js';
import { storedSubject } from './log-reads.js';

/** Marks subjects whose rows were found damaged. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decideNoteSuspects({ subjects }: NoteSuspects): Deciding<Outcomes['note-suspects']> {
  return decided({}, [{ mutation: 'note-suspects', subjects }]);
}

/**
 * Takes subjects from the suspects. Where nothing can tell what a row was, one that can be read is taken as it stands;
 * one that cannot stays suspect, and every command about it fails.
 */
export function* decideSettleSuspects({
  sound,
  accept,
}: SettleSuspects): Deciding<Outcomes['settle-suspects']> {
  const accepted: string[] = [];
  const kept: string[] = [];
  const namespaces = new Set<string>();
  const mutations: Mutation[] = [];
  for (const id of accept) {
    const stored = yield* storedSubject(id);
    // Concurrent versions of which the log lost a text cannot be merged, whatever the row says.
    const isMergeable = stored.siblings.length === 0;
    if (!isUsable(stored) || !isMergeable) kept.push(id);
    if (!isUsable(stored) || (stored.whole && !isMergeable)) continue;
    if (stored.memory === null && stored.tombstone === null) continue;
    accepted.push(id);
    mutations.push({ mutation: 'accept-row', id });
    for (const namespace of [stored.memory?.namespace, stored.namespace])
      if (namespace != null) namespaces.add(namespace);
  }
  const settled = [...sound, ...accept.filter((id) => !kept.includes(id))];
  return decided({ accepted, kept }, [
    ...mutations,
    ...[...namespaces].sort().flatMap((namespace): Mutation[] => [
      { mutation: 'recount-digest', namespace },
      { mutation: 'recount-quotas', namespace },
    ]),
    { mutation: 'drop-suspects', subjects: settled },
  ]);
}

/** True where nothing stands in the way of commands: there is no row, or one that other nodes could read as well. */
function isUsable({ exists, memory }: StoredSubject): boolean {
  if (!exists) return true;
  if (memory === null) return false;
  const { id: subject, hlc, origin, origin_seq: seq, namespace } = memory;
  const payload = memoryPayload(memory);
  return versionOf({ kind: 'update', subject, hlc, origin, seq, namespace, seen: {}, payload }) !== null;
}
