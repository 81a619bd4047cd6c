import type { Link } from './link.js';
import { RELATIONS } from './link.js';
import { KINDS, TIERS } from './memory.js';
import {
  type MemoryImage,
  REMOVAL_KINDS,
  REPLICATED_KEYS,
  type Removal,
  type RemovalKind,
  type ReplicatedKey,
} from './operation-log.js';
import type { Version } from './replica.js';
import type { VersionVector } from './version-vector.js';

/** What of an operation says which version it makes. */
export interface VersionSource {
  readonly origin: string;
  readonly seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: VersionVector;
  readonly payload: string;
}

/** Kinds whose payload is the image of a memory that lives. */
const IMAGE_KINDS = new Set(['store', 'update', 'promote', 'life', 'restore']);

/** True for the operations of memories. */
export const concernsMemory = (kind: string): boolean => IMAGE_KINDS.has(kind) || isRemoval(kind);

const isRemoval = (kind: string): kind is RemovalKind => (REMOVAL_KINDS as readonly string[]).includes(kind);

/** The version of a memory that an operation makes; null when its payload is not what its kind demands. */
export function versionOf(source: VersionSource): Version | null {
  const { origin, seq, hlc, kind, subject } = source;
  const value = parsed(source.payload);
  if (value === null || value['id'] !== subject || value['namespace'] !== source.namespace) return null;
  const dot = { hlc, origin, seq, covers: { ...source.seen, [origin]: seq } };
  if (isRemoval(kind)) {
    const removal = removalOf(kind, value);
    return removal === null ? null : { ...dot, image: null, removal };
  }
  if (!IMAGE_KINDS.has(kind)) return null;
  const image = imageOf(value);
  return image === null ? null : { ...dot, image, removal: null };
}

/** The link of a `link` operation; null when its payload is none. */
export function linkOf(payload: string): Link | null {
  const value = parsed(payload);
  if (value === null) return null;
  const texts = ['source_id', 'target_id', 'created_at', 'attest_level'] as const;
  const maybe = ['valid_from', 'valid_until', 'observed_by', 'signature', 'signed_at'] as const;
  const valid =
    texts.every((key) => typeof value[key] === 'string') &&
    maybe.every((key) => isTextOrNull(value[key])) &&
    (RELATIONS as readonly unknown[]).includes(value['relation']);
  return valid ? (value as unknown as Link) : null;
}

/** Why an archived copy was purged; null for a payload that is no purge's. */
export function purgeReasonOf(payload: string): string | null {
  const reason = parsed(payload)?.['reason'];
  return typeof reason === 'string' ? reason : null;
}

type Value = Readonly<Record<string, unknown>>;

function parsed(payload: string): Value | null {
  try {
    const value: unknown = JSON.parse(payload);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function removalOf(kind: RemovalKind, value: Value): Removal | null {
  const { namespace, title, reason, expires_at = null, version, was } = value;
  if (typeof namespace !== 'string' || typeof title !== 'string' || typeof reason !== 'string') return null;
  if (!isTextOrNull(expires_at) || !isVersion(version)) return null;
  const image = isObject(was) ? imageOf(was) : null;
  if (was !== undefined && image === null) return null;
  if (image !== null && (image.id !== value['id'] || image.namespace !== namespace)) return null;
  return { kind, namespace, title, reason, expiresAt: expires_at, version, image };
}

const isObject = (value: unknown): value is Value =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);
const isInteger = (value: unknown): boolean => Number.isSafeInteger(value);
const isVersion = (value: unknown): value is number => isInteger(value) && (value as number) >= 1;
const isIntegerOrNull = (value: unknown): boolean => value === null || isInteger(value);
const isObjectOrNull = (value: unknown): boolean => value === null || isObject(value);
const oneOf =
  (words: readonly string[]) =>
  (value: unknown): boolean =>
    words.includes(value as string);

/** What each column of an image must be, so that no payload of a peer can break a row. */
const COLUMNS: Readonly<Record<ReplicatedKey, (value: unknown) => boolean>> = {
  id: (value) => isText(value) && value !== '',
  tier: oneOf(TIERS),
  namespace: (value) => isText(value) && value !== '',
  title: isText,
  content: isText,
  tags: (value) => Array.isArray(value) && value.every(isText),
  priority: (value) => isInteger(value) && (value as number) >= 1 && (value as number) <= 10,
  confidence: (value) => typeof value === 'number' && value >= 0 && value <= 1,
  source: isText,
  created_at: isText,
  updated_at: isText,
  expires_at: isTextOrNull,
  metadata: isObject,
  kind: oneOf(KINDS),
  reflection_depth: isInteger,
  atomised_into: isIntegerOrNull,
  atom_of: isTextOrNull,
  entity_id: isTextOrNull,
  persona_version: isIntegerOrNull,
  citations: (value) => Array.isArray(value) && value.every(isObject),
  source_uri: isTextOrNull,
  source_span: isObjectOrNull,
  confidence_source: isText,
  confidence_signals: isObjectOrNull,
  confidence_decayed_at: isTextOrNull,
  mentioned_entity_id: isTextOrNull,
  version: isVersion,
  write_signature: isObjectOrNull,
  created_hlc: isText,
  edited: isText,
};

function imageOf(value: Value): MemoryImage | null {
  const image: Record<string, unknown> = {};
  for (const [key] of REPLICATED_KEYS) {
    if (!COLUMNS[key](value[key])) return null;
    image[key] = value[key];
  }
  return image as unknown as MemoryImage;
}
