import type { Mutation, Write } from '../decide/mutations.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { type Blob, blobId, blobKind } from './blob-kind.js';
import { offloadKind } from './offload-kind.js';
import { transcriptKind } from './transcript-kind.js';

/** The text of a reference. */
export function* blobOf(reference: {
  readonly namespace: string;
  readonly content_sha256: string;
}): Reading<Blob | null> {
  const row = yield* recordRow(blobKind, blobId(reference.namespace, reference.content_sha256));
  return row?.image ?? null;
}

/** The write that stores a text for a new reference to it. */
export const putBlob = (blob: Blob): Reading<Write<Blob>> =>
  putRecord(blobKind, { id: blobId(blob.namespace, blob.sha256), namespace: blob.namespace }, blob);

/** The removal of the texts to which no reference is left; the references are dropped before. */
export function* dropUnused(ids: Iterable<string>, reason = 'unused'): Reading<readonly Mutation[]> {
  const mutations: Mutation[] = [];
  for (const id of new Set(ids)) {
    const asked = { member: 'blob_id', value: id, limit: 1 };
    if ((yield* recordsWith({ kind: transcriptKind.name, ...asked })).length > 0) continue;
    if ((yield* recordsWith({ kind: offloadKind.name, ...asked })).length > 0) continue;
    const row = yield* recordRow(blobKind, id);
    if (row !== null) mutations.push(dropRecord(blobKind, row, reason));
  }
  return mutations;
}
