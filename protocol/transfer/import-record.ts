import { hasControlCharacter, namespaceProblem } from '../base/ids.js';
import { HEADER_TEXT_LENGTH_MAX } from '../base/limits.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import { canonicalInstant } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { subjectRow, tombstoneOf } from '../decide/reads.js';

import { type Kind, wordsOf } from '../kinds/kind.js';
import type { Kinds } from '../kinds/kinds.js';
import type { Rest } from '../kinds/payload.js';
import type { RecordImage } from '../kinds/record.js';

/** Imports a record of any exported kind; the caller's permission is checked before (interface §4.10). */
export interface ImportRecord {
  readonly kind: 'import-record';
  readonly record: RecordImage;
  /** True brings back any removed record; false only a record that changed after its removal. */
  readonly revive: boolean;
  /** The caller, whose quota is charged; absent for a peer. */
  readonly viewer?: Viewer;
}

/** The outcome for an imported record. */
export interface ImportedRecord {
  readonly id: string;
  readonly change: 'created' | 'updated' | 'unchanged';
}

/** The members of every record's image; kinds that date their changes have `updated_at`. */
type Image = { readonly rest: Rest; readonly updated_at?: string };

/** The kind of a record that can be imported. VALIDATION_FAILED for any other kind. */
export function importableKind(kinds: Kinds, name: string): Result<Kind> {
  const kind = kinds.named(name);
  if (kind === null) {
    const message = `this release knows no kind "${name}": import the record with the release that exported it`;
    return fail('VALIDATION_FAILED', message, { fields: ['kind'] });
  }
  if (typeof kind.table === 'string' || !kind.exported) {
    return fail('VALIDATION_FAILED', `kind "${name}" is not imported as a record`, { fields: ['kind'] });
  }
  if (kind.writer !== 'anybody') {
    const message = `records of kind "${name}" are not imported: only one node writes each of them`;
    return fail('VALIDATION_FAILED', message, { fields: ['kind'] });
  }
  return ok(kind);
}

/**
 * Imports a record. A stored record with the same text, or with the same or a later `updated_at`, stays as it is; an
 * import never changes records of kinds without that member. CONFLICT when the record is stored in another namespace.
 */
function* decideImportRecord(command: ImportRecord, { kinds }: DecisionContext): Deciding<ImportedRecord> {
  const { record, revive } = command;
  const importable = importableKind(kinds, record.kind);
  if (!importable.ok) return failed(importable.error);
  const kind = importable.value;
  const { id, namespace } = record;
  const image = record.image as Image;
  const problem = problemOf(kind, record);
  if (problem !== null) {
    return fail('VALIDATION_FAILED', `${problem[0]}: ${problem[1]}`, { fields: [problem[0]] });
  }
  const subject = { kind: kind.name, id };
  const write = { mutation: 'write', ...subject, word: wordsOf(kind, 'image')[0]!, namespace } as const;
  const row = yield* subjectRow(subject);
  if (row === null) {
    const tombstone = yield* tombstoneOf(subject);
    const stays = tombstone !== null && !revive && !((image.updated_at ?? '') > tombstone.deleted_at);
    if (stays) return unchanged(id);
    // A removed record comes back with a version after its removal, so nodes merge the two.
    return decided({ id, change: 'created' }, [
      { ...write, seen: tombstone?.seen ?? {}, before: null, image },
    ]);
  }
  if (row.namespace !== namespace) {
    return fail('CONFLICT', `this record exists in namespace "${row.namespace}"; remove it there first`);
  }
  const before = row.image as Image;
  // The file may come from a release that knows fewer members.
  const joined: Image = { ...image, rest: { ...before.rest, ...image.rest } };
  const isLater = (image.updated_at ?? '') > (before.updated_at ?? '');
  if (!isLater || kind.payload.text(joined) === kind.payload.text(before)) return unchanged(id);
  return decided({ id, change: 'updated' }, [{ ...write, seen: row.stamp.seen, before, image: joined }]);
}

const unchanged = (id: string) => decided<ImportedRecord>({ id, change: 'unchanged' }, []);

/** The wrong field of a record and what is wrong with it; null for a valid record. */
function problemOf(
  kind: Kind,
  { id, namespace, image }: RecordImage,
): readonly [field: string, problem: string] | null {
  if (id.length === 0 || id.length > HEADER_TEXT_LENGTH_MAX || hasControlCharacter(id)) {
    return ['id', `must be 1 to ${HEADER_TEXT_LENGTH_MAX} characters without control characters`];
  }
  const place = namespaceProblem(namespace);
  if (place !== null) return ['namespace', place];
  if ((kind.idOf(image) ?? id) !== id) return ['id', `must be "${kind.idOf(image)}", as its members say`];
  const named = kind.namespaceOfId(id) ?? kind.namespaceOf(image);
  if (named !== null && named !== namespace)
    return ['namespace', `must be "${named}", as its id or members say`];
  if (!kind.payload.keys.includes('updated_at')) return null;
  const { updated_at: date = '' } = image as Image;
  // Dates are compared as texts.
  return canonicalInstant(date) === date
    ? null
    : ['updated_at', 'must be an instant in UTC with milliseconds'];
}

export const importRecordCommand = defineCommand({
  kind: 'import-record',
  decide: decideImportRecord,
  gate: 'operator',
});
