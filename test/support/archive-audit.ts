import { canonicalJson } from '../../protocol/base/canonical-json.js';
import type { Connection } from '../../storage/sql/connection.js';
import { MEMORY } from './kind-facts.js';
import { copyOf } from './meaning.js';
import { meaningOrNull } from './meaning-of.js';
import { archivedCopies } from './stored-rows.js';
import { type Json, maximalOf, type Told } from './told.js';

/** What the archive keeps of memories, as far as operations say: whether a copy is kept is otherwise each node's setting. */
export function auditArchive(
  db: Connection,
  told: ReadonlyMap<string, readonly Told[]>,
  own: string,
): string[] {
  const kept = archivedCopies(db);
  const problems: string[] = [];
  for (const [subject, operations] of told) {
    if (operations.some(({ word, payload }) => payload !== null && MEMORY.finals.includes(word))) {
      if (kept.has(subject)) problems.push(`${subject} was erased and is in the archive`);
      const said = operations.filter(({ word, payload }) => payload !== null && !MEMORY.notes.includes(word));
      if (!said.every(({ word }) => MEMORY.finals.includes(word)))
        problems.push(`${subject} was erased and its operations say what it was`);
      continue;
    }
    if (!operations.some(({ word }) => ['archive', 'restore', 'purge'].includes(word))) continue;
    const copy = archivedBy(operations, own);
    if (copy === undefined) continue;
    if ((kept.get(subject) ?? null) !== (copy && canonicalJson(copy)))
      problems.push(`the archive of ${subject} differs from the log`);
  }
  return problems;
}

/** The copy that has to be there, null when there must be none, undefined when it is not said. */
function archivedBy(operations: readonly Told[], own: string): Json | null | undefined {
  let copy: Json | null | undefined;
  const come: Told[] = [];
  for (const operation of operations) {
    const { word, origin } = operation;
    if (MEMORY.notes.includes(word)) {
      copy = origin === own ? null : undefined;
      continue;
    }
    come.push(operation);
    // What was seen by a version that came before it changes nothing, nor does a removal that gives way to a later one.
    if (!maximalOf(come).includes(operation)) continue;
    const now = meaningOrNull(MEMORY, come);
    if (now === null) {
      copy = undefined;
      continue;
    }
    if (now.removal !== null && now.removal.by !== operation) continue;
    // A store over a tombstone leaves a copy, and a restore that comes from elsewhere to a living row leaves it too.
    const drops = word === 'restore' && (origin === own || copy !== undefined);
    if (now.removal === null) copy = drops ? null : undefined;
    else copy = (word === 'archive' ? copyOf(MEMORY, operation) : null) ?? undefined;
  }
  return copy;
}
