import { memoryIdProblem } from '../base/ids.js';
import * as limits from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { verifyClaim } from '../identity/author-claim.js';
import { ownerOf } from '../identity/owner.js';
import { latest, latestOrNever, mergeBy } from '../kinds/joins.js';
import type { Kind } from '../kinds/kind.js';
import {
  isFilled,
  isInteger,
  isIntegerOrNull,
  isObject,
  isObjectOrNull,
  isText,
  isTextOrNull,
  isTexts,
  type Members,
  NO_REST,
  oneOf,
  payloadOf,
  type Rest,
} from '../kinds/payload.js';
import { instant, json, listOf, orNull, textOf } from '../kinds/replicated-value.js';
import {
  covers,
  editDot,
  type Facts,
  isLater,
  type LiveVersion,
  type Removal,
  type Settled,
  type Version,
} from '../kinds/version.js';
import { REPLICATED_CONVERSATION_BYTES_MAX, TURN_MAX } from './conversation.js';
import { higherTier, KINDS, type Memory, TIERS } from './memory.js';

const LOCAL_KEYS = ['access_count', 'last_accessed_at', 'hlc', 'origin', 'origin_seq', 'seen'] as const;

/**
 * The replicated part of a memory. Local counters (access_count, last_accessed_at) and the stamps, which the header of
 * the operation carries, are left out.
 */
export type MemoryImage = Pick<Memory, Exclude<keyof Memory, (typeof LOCAL_KEYS)[number]>>;

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

const MEMBERS: Members<MemoryImage> = {
  id: { accepts: isFilled, admits: isMemoryId, default: '' },
  tier: { accepts: oneOf(TIERS), default: 'mid' },
  namespace: { accepts: isFilled, default: '' },
  title: { accepts: isText, admits: textOf(limits.REPLICATED_TITLE_BYTES_MAX), default: '' },
  content: { accepts: isText, admits: textOf(limits.REPLICATED_CONTENT_BYTES_MAX), default: '' },
  tags: {
    accepts: isTexts,
    admits: listOf(textOf(limits.REPLICATED_TAG_BYTES_MAX), limits.REPLICATED_TAGS_MAX),
    default: [],
  },
  priority: {
    accepts: (value) => isInteger(value) && (value as number) >= 1 && (value as number) <= 10,
    default: 5,
  },
  confidence: { accepts: (value) => typeof value === 'number' && value >= 0 && value <= 1, default: 1 },
  source: { accepts: isText, admits: WORD, default: 'api' },
  created_at: { accepts: isText, admits: instant, default: '' },
  updated_at: { accepts: isText, admits: instant, default: '' },
  expires_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
  valid_from: { accepts: isTextOrNull, admits: orNull(instant), default: null, later: true },
  valid_until: { accepts: isTextOrNull, admits: orNull(instant), default: null, later: true },
  conversation: {
    accepts: isTextOrNull,
    admits: orNull(textOf(REPLICATED_CONVERSATION_BYTES_MAX)),
    default: null,
    later: true,
  },
  turn: { accepts: isIntegerOrNull, admits: orNull(isTurn), default: null, later: true },
  metadata: { accepts: isObject, admits: json, default: {} },
  kind: { accepts: oneOf(KINDS), default: 'observation' },
  reflection_depth: { accepts: isInteger, default: 0 },
  atomised_into: { accepts: isIntegerOrNull, default: null },
  atom_of: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
  entity_id: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
  persona_version: { accepts: isIntegerOrNull, default: null },
  citations: {
    accepts: (value) => Array.isArray(value) && value.every(isObject),
    admits: listOf(json, limits.REPLICATED_CITATIONS_MAX),
    default: [],
  },
  source_uri: {
    accepts: isTextOrNull,
    admits: orNull(textOf(limits.REPLICATED_SOURCE_URI_BYTES_MAX)),
    default: null,
  },
  source_span: { accepts: isObjectOrNull, admits: json, default: null },
  confidence_source: { accepts: isText, admits: WORD, default: 'caller_provided' },
  confidence_signals: { accepts: isObjectOrNull, admits: json, default: null },
  confidence_decayed_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
  mentioned_entity_id: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
  version: { accepts: isVersion, admits: isBoundedVersion, default: 1 },
  write_signature: { accepts: isObjectOrNull, admits: json, default: null },
  created_hlc: { accepts: isText, admits: WORD, default: '' },
  edited: { accepts: isText, admits: WORD, default: '' },
};

/** The facts of a memory's removal, without its reason. */
export interface MemoryRemoval {
  readonly title: string;
  /** The expiry that an `expire` operation used. */
  readonly expires_at: Instant | null;
  /** The version number of the removed row. */
  readonly version: number;
}

const removal = payloadOf<MemoryRemoval & { readonly rest: Rest }>({
  title: { accepts: isText, admits: MEMBERS.title.admits!, default: '' },
  expires_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
  version: { accepts: isVersion, admits: isBoundedVersion, default: 1 },
});

function isVersion(value: unknown): boolean {
  return isInteger(value) && (value as number) >= 1;
}

function isBoundedVersion(value: unknown): boolean {
  return isVersion(value) && (value as number) <= limits.REPLICATED_VERSION_MAX;
}

function isTurn(value: unknown): boolean {
  return isInteger(value) && (value as number) >= 0 && (value as number) <= TURN_MAX;
}

function isMemoryId(value: unknown): boolean {
  return isText(value) && memoryIdProblem(value) === null;
}

/** The facts of a memory's removal, with their types. */
export const memoryRemoval = ({ facts }: Pick<Removal, 'facts'>): MemoryRemoval =>
  facts as unknown as MemoryRemoval;

const joinLife = mergeBy<MemoryImage>({ tier: higherTier, expires_at: latestOrNever, updated_at: latest });

/** A memory. Its row also has full text, vectors, a unique title and an archive. */
export const memoryKind: Kind<MemoryImage> = {
  name: 'memory',
  words: {
    store: 'image',
    update: 'image',
    promote: 'image',
    life: 'image',
    restore: 'image',
    delete: 'removal',
    expire: 'removal',
    archive: 'removal',
    erase: 'removal',
    purge: 'purge',
  },
  contested: ['store', 'update', 'restore', 'delete', 'archive'],
  prevailing: [],
  final: ['erase'],
  payload: payloadOf(MEMBERS),
  removal: removal as unknown as Kind['removal'],
  idOf: ({ id }) => id,
  namespaceOf: ({ namespace }) => namespace,
  namespaceOfId: () => null,
  about: () => [],
  governsBelow: false,
  lasting: false,
  ownerOf: (image) => ownerOf(image),
  ownerMember: null,
  memoryMembers: [],
  // Reads and promotions keep the stamp of the last edit, so they neither win against an edit nor bring a memory back.
  editOf: (version) => editDot(version.image.edited) ?? version,
  merge: (versions, winner) => {
    const first = versions.reduce(earlierCreation).image;
    const { created_at, created_hlc } = first;
    return withOwner({ ...joinLife(versions, winner), created_at, created_hlc }, first.metadata['agent_id']);
  },
  ends: (by, version) => {
    if (!covers(by, memoryKind.editOf(version))) return false;
    if (by.removal.word !== 'expire') return true;
    // An expiry ends only a version that expires no later than the expiry assumed.
    const { expires_at } = version.image;
    return expires_at !== null && expires_at <= (memoryRemoval(by.removal).expires_at ?? '');
  },
  settled: numbered,
  reach: 'namespace',
  writer: 'anybody',
  superseded: 'dropped',
  movable: true,
  author: verifyClaim,
  exported: true,
  charged: false,
  decides: false,
  table: 'memories',
};

/** Prefers the earlier creation; within one creation the earlier edit; then the earlier version. */
function earlierCreation(
  best: LiveVersion<MemoryImage>,
  version: LiveVersion<MemoryImage>,
): LiveVersion<MemoryImage> {
  const [a, b] = [version.image, best.image];
  if (a.created_hlc !== b.created_hlc) return a.created_hlc < b.created_hlc ? version : best;
  if (a.edited !== b.edited) return a.edited < b.edited ? version : best;
  return isLater(best, version) ? version : best;
}

/**
 * Sets the version number of the outcome. A single version keeps its number. Concurrent versions get a number that no
 * one of them had, also for a removal: readers may have seen its number on a version that it ended.
 */
function numbered(
  outcome: Settled<MemoryImage>,
  versions: readonly Version<MemoryImage>[],
): Settled<MemoryImage> {
  const highest = Math.max(...versions.map(numberOf));
  const version = versions.length === 1 ? highest : highest + 1;
  if (numberOf(outcome) === version) return outcome;
  if (outcome.image !== null) return { ...outcome, image: { ...outcome.image, version } };
  const facts: Facts = { ...outcome.removal.facts, version };
  return { ...outcome, removal: { ...outcome.removal, facts } };
}

const numberOf = (version: Pick<Version<MemoryImage>, 'image' | 'removal'>): number =>
  version.image?.version ?? memoryRemoval(version.removal!).version;

/**
 * The row belongs to its first creator. A signature over another agent's text does not attest that, so it is dropped.
 */
function withOwner(image: MemoryImage, owner: unknown): MemoryImage {
  if (image.metadata['agent_id'] === owner) return image;
  const { agent_id: _agent, attested_by: _by, ...metadata } = image.metadata;
  return {
    ...image,
    metadata: {
      ...metadata,
      ...(owner === undefined ? {} : { agent_id: owner }),
      attest_level: 'claimed',
    },
    write_signature: null,
  };
}

/** The memory of a live version; local members come from the row before it, if there was one. */
export function memoryOf(version: LiveVersion<MemoryImage>, before: Memory | null): Memory {
  return {
    ...version.image,
    access_count: before?.access_count ?? 0,
    last_accessed_at: before?.last_accessed_at ?? null,
    hlc: version.hlc,
    origin: version.origin,
    origin_seq: version.seq,
    seen: version.covers,
  };
}

/** The image of a memory as its operations carry it. */
export const memoryPayload = (memory: MemoryImage): string => memoryKind.payload.text(memory);

/** What the removal of an erased memory says: nothing of the memory. */
export const ERASURE = {
  reason: 'erase',
  facts: { title: '', expires_at: null, version: 1, rest: NO_REST },
} as const;

/** Why an archived copy was purged: on request, or because it was older than `storage.archive_max_days`. */
export type PurgeReason = 'request' | 'retention';
