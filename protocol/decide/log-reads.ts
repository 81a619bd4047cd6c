import type { EpochNotice } from '../mesh/epoch-notice.js';
import type { SubjectPlace, UsedNonce } from '../mesh/store-terms.js';
import type { ParkReason, WireOperation } from '../mesh/wire.js';
import type { LoggedOperation } from '../repair.js';
import type { Dot, HistoricEdit, Version } from '../replica.js';
import type { LinkKey, ParkedPage, ReadRequest, StoredSubject } from './decision.js';

/** The origin that this database writes under, and its last sequence. */
export function* logOrigin(): Generator<
  ReadRequest,
  { readonly origin: string; readonly seq: number },
  never
> {
  return (yield { read: 'log-origin' }) as { origin: string; seq: number };
}

/** Where the chain of a foreign origin ends; null before its first operation. */
export function* originHead(
  origin: string,
): Generator<ReadRequest, { readonly seq: number; readonly head: string } | null, never> {
  return (yield { read: 'origin-head', origin }) as { seq: number; head: string } | null;
}

/** The header hash of an operation in the log; null for one that the log does not hold. */
export function* operationHash(origin: string, seq: number): Generator<ReadRequest, string | null, never> {
  return (yield { read: 'operation-hash', origin, seq }) as string | null;
}

/** Notices about an origin whose numbers were given twice. */
export function* epochNotices(origin: string): Generator<ReadRequest, readonly EpochNotice[], never> {
  return (yield { read: 'epoch-notices', origin }) as readonly EpochNotice[];
}

/** True when every operation of an origin beyond one of them is here as an operation of another, in the same order. */
export function* isRenamedWhole(
  from: string,
  keep: number,
  to: string,
): Generator<ReadRequest, boolean, never> {
  return (yield { read: 'renamed-whole', from, keep, to }) as boolean;
}

/** The hash of the header that the log holds at a place, right or wrong; null where it holds none. */
export function* loggedHash(origin: string, seq: number): Generator<ReadRequest, string | null, never> {
  return (yield { read: 'logged-hash', origin, seq }) as string | null;
}

/** True when the log has an operation at a place. */
export function* isLogged(origin: string, seq: number): Generator<ReadRequest, boolean, never> {
  return (yield { read: 'is-logged', origin, seq }) as boolean;
}

/** Subjects of the operations of an origin beyond one of them. */
export function* subjectsBeyond(
  origin: string,
  seq: number,
): Generator<ReadRequest, readonly string[], never> {
  return (yield { read: 'subjects-beyond', origin, seq }) as readonly string[];
}

/** Why an operation of the log is without effect; null when it has one. */
export function* parkedReason(origin: string, seq: number): Generator<ReadRequest, ParkReason | null, never> {
  return (yield { read: 'parked-reason', origin, seq }) as ParkReason | null;
}

/** True when a peer's nonce is remembered. */
export function* nonceUsed(nonce: UsedNonce): Generator<ReadRequest, boolean, never> {
  const { peerId, fingerprint } = nonce;
  return (yield { read: 'nonce-used', peerId, fingerprint }) as boolean;
}

/** The maximal versions of a memory; none for an id that was never written. */
export function* subjectVersions(id: string): Generator<ReadRequest, readonly Version[], never> {
  return (yield { read: 'subject-versions', id }) as readonly Version[];
}

/** The contested operations of a subject that the log has. */
export function* subjectHistory(id: string): Generator<ReadRequest, readonly HistoricEdit[], never> {
  return (yield { read: 'subject-history', id }) as readonly HistoricEdit[];
}

/** All namespaces that operations of a subject name, whatever became of them. */
export function* subjectNamespaces(id: string): Generator<ReadRequest, readonly string[], never> {
  return (yield { read: 'subject-namespaces', id }) as readonly string[];
}

/** Where the operations of a memory put it that have an effect, or had to leave one to others. */
export function* subjectPlaces(id: string): Generator<ReadRequest, readonly SubjectPlace[], never> {
  return (yield { read: 'subject-places', id }) as readonly SubjectPlace[];
}

/** The stamp of the operation that wrote a link; null when there is none. */
export function* linkStamp(link: LinkKey): Generator<ReadRequest, Dot | null, never> {
  return (yield { read: 'link-stamp', link }) as Dot | null;
}

/** Operations that are in the log without effect and may have one now, each with its commit sequence. */
export function* parkedOperations({
  after,
  skip,
  limit,
}: ParkedPage): Generator<ReadRequest, readonly (readonly [number, WireOperation])[], never> {
  return (yield { read: 'parked-operations', after, skip, limit }) as [number, WireOperation][];
}

/** All operations of a subject in the log; a payload that is not its hash's is null. */
export function* subjectLog(subject: string): Generator<ReadRequest, readonly LoggedOperation[], never> {
  return (yield { read: 'subject-log', subject }) as readonly LoggedOperation[];
}

/** What the tables hold of a subject, which may be damaged. */
export function* storedSubject(subject: string): Generator<ReadRequest, StoredSubject, never> {
  return (yield { read: 'stored-subject', subject }) as StoredSubject;
}

/** True when the digest of a namespace is the sum of its rows' digests. */
export function* digestHolds(namespace: string): Generator<ReadRequest, boolean, never> {
  return (yield { read: 'digest-holds', namespace }) as boolean;
}
