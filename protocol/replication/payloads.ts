import { canonicalJson } from '../base/canonical-json.js';
import type { Kind, Role } from '../kinds/kind.js';
import { isObject, parsedObject } from '../kinds/payload.js';
import type { Removal, Version } from '../kinds/version.js';
import type { OperationHeader } from '../log/operation-log.js';
import { ERASURE, memoryKind, type PurgeReason } from '../memory/memory-kind.js';

/** The part of an operation that says which version it makes. */
export interface VersionSource extends Omit<OperationHeader, 'payloadHash' | 'prevHash'> {
  readonly payload: string;
}

/**
 * The version of a subject that an operation makes; null when its payload does not have the form that its word needs.
 */
export function versionOf(kind: Kind, role: Role | null, source: VersionSource): Version | null {
  const { origin, seq, hlc, namespace, subject } = source;
  const value = parsedObject(source.payload);
  if (value === null) return null;
  const dot = { hlc, origin, seq, covers: { ...source.seen, [origin]: seq }, namespace };
  if ((kind.namespaceOfId(subject) ?? namespace) !== namespace) return null;
  if (role === 'removal') {
    const removal = removalOf(kind, source.kind, value);
    const fits = value['id'] === subject && value['namespace'] === namespace;
    return removal === null || !fits ? null : { ...dot, image: null, removal };
  }
  if (role !== 'image') return null;
  const image = imageOf(kind, value, subject, namespace);
  return image === null ? null : { ...dot, image, removal: null };
}

type Value = Readonly<Record<string, unknown>>;

function imageOf(kind: Kind, value: Value, subject: string, namespace: string): object | null {
  const image = kind.payload.parse(value);
  if (image === null || (kind.idOf(image) ?? subject) !== subject) return null;
  return (kind.namespaceOf(image) ?? namespace) === namespace ? image : null;
}

function removalOf(kind: Kind, word: string, value: Value): Removal | null {
  const { id, namespace, reason, was, ...others } = value;
  if (typeof id !== 'string' || typeof namespace !== 'string' || typeof reason !== 'string') return null;
  const facts = kind.removal.parse(others);
  if (facts === null) return null;
  if (was === undefined) return { word, reason, facts, was: null };
  const image = isObject(was) ? imageOf(kind, was, id, namespace) : null;
  return image === null ? null : { word, reason, facts, was: image };
}

/** True for a version that a peer may send; its kind limits it. */
export function admits(kind: Kind, { image, removal }: Version): boolean {
  if (removal === null) return image !== null && kind.payload.admits(image);
  return kind.removal.admits(removal.facts) && (removal.was === null || kind.payload.admits(removal.was));
}

/** The payload of a removal. */
export function removalPayload(
  kind: Kind,
  subject: { readonly id: string; readonly namespace: string },
  { reason, facts, was }: Pick<Removal, 'reason' | 'facts' | 'was'>,
): string {
  const { id, namespace } = subject;
  const said = { ...(JSON.parse(kind.removal.text(facts)) as Value), id, namespace, reason };
  const members = Object.entries(said).map(([key, value]) => [key, canonicalJson(value)] as const);
  if (was !== null) members.push(['was', kind.payload.text(was)]);
  const sorted = members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** The payload of an operation whose header says all of it; null for another one. */
export function impliedPayload({
  kind,
  subject: id,
  namespace,
}: Pick<OperationHeader, 'kind' | 'subject' | 'namespace'>): string | null {
  if (!memoryKind.final.includes(kind)) return null;
  return removalPayload(memoryKind as Kind, { id, namespace }, { ...ERASURE, was: null });
}

/**
 * The payload of a purge: which archived copy is gone for good, and why. A receiver may keep its own copy longer when
 * the reason is `retention`, because each node sets how long it keeps archived copies.
 */
export function purgePayload(
  memory: { readonly id: string; readonly namespace: string },
  archivedAt: string,
  reason: PurgeReason,
): string {
  const { id, namespace } = memory;
  return canonicalJson({ id, namespace, archived_at: archivedAt, reason });
}

/** Why an archived copy was purged; null for the payload of another operation. */
export function purgeReasonOf(payload: string): string | null {
  const reason = parsedObject(payload)?.['reason'];
  return typeof reason === 'string' ? reason : null;
}
