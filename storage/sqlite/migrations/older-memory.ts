import { ACCESS_COUNT_MAX, PRIORITY_MAX, PRIORITY_MIN } from '../../../protocol/base/limits.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { type Citation, KINDS, type Memory, TIERS } from '../../../protocol/memory/memory.js';
import {
  olderInstant,
  olderInteger,
  olderJson,
  olderNumber,
  olderObject,
  olderText,
  olderTextOrNull,
} from './older-values.js';

/** A row of `memories` or `archived_memories` of an older release; columns that it did not have are absent. */
export type OlderRow = Readonly<Record<string, unknown>>;

/** Columns that `memoryFromOlderRow` reads, where they exist. */
export const OLDER_MEMORY_COLUMNS = [
  'id',
  'tier',
  'namespace',
  'title',
  'content',
  'tags',
  'priority',
  'confidence',
  'source',
  'access_count',
  'created_at',
  'updated_at',
  'last_accessed_at',
  'expires_at',
  'metadata',
  'reflection_depth',
  'memory_kind',
  'atomised_into',
  'atom_of',
  'entity_id',
  'persona_version',
  'citations',
  'source_uri',
  'source_span',
  'confidence_source',
  'confidence_signals',
  'confidence_decayed_at',
  'mentioned_entity_id',
  'version',
] as const;

/** Metadata that is not a JSON object is kept as text under this key. */
export const UNREADABLE_METADATA_KEY = 'metadata_before_migration';

const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/**
 * A memory of an older release in the present form. No row is refused: a missing or invalid value becomes the nearest
 * valid value, instants become canonical, and texts stay as long as they are even above today's limits. The stamps are
 * empty; the log fills them.
 */
export function memoryFromOlderRow(row: OlderRow, rowid: number, now: string, crypto: Crypto): Memory {
  const updated = olderInstant(row['updated_at']);
  const created = olderInstant(row['created_at']) ?? updated ?? now;
  return {
    id: olderText(row['id']) || idFor(row, rowid, crypto),
    tier: oneOf(TIERS, row['tier'], 'long'),
    namespace: olderText(row['namespace']),
    title: olderText(row['title']),
    content: olderText(row['content']),
    tags: tagsOf(row['tags']),
    priority: olderInteger(row['priority'], PRIORITY_MIN, PRIORITY_MAX, 5),
    confidence: olderNumber(row['confidence'], 0, 1, 1),
    source: olderTextOrNull(row['source']) ?? 'api',
    access_count: olderInteger(row['access_count'], 0, ACCESS_COUNT_MAX, 0),
    created_at: created,
    updated_at: updated ?? created,
    last_accessed_at: olderInstant(row['last_accessed_at']),
    valid_from: null,
    valid_until: null,
    conversation: null,
    turn: null,
    expires_at: olderInstant(row['expires_at']),
    metadata: metadataOf(row['metadata']),
    kind: oneOf(KINDS, row['memory_kind'], 'observation'),
    reflection_depth: olderInteger(row['reflection_depth'], 0, INTEGER_MAX, 0),
    atomised_into: integerOrNull(row['atomised_into']),
    atom_of: olderTextOrNull(row['atom_of']),
    entity_id: olderTextOrNull(row['entity_id']),
    persona_version: integerOrNull(row['persona_version']),
    citations: citationsOf(row['citations']),
    source_uri: olderTextOrNull(row['source_uri']),
    source_span: olderObject(row['source_span']) as Memory['source_span'],
    confidence_source: olderTextOrNull(row['confidence_source']) ?? 'caller_provided',
    confidence_signals: olderObject(row['confidence_signals']),
    confidence_decayed_at: olderInstant(row['confidence_decayed_at']),
    mentioned_entity_id: olderTextOrNull(row['mentioned_entity_id']),
    version: olderInteger(row['version'], 1, INTEGER_MAX, 1),
    write_signature: null,
    created_hlc: '',
    edited: '',
    rest: NO_REST,
    hlc: '',
    origin: '',
    origin_seq: 0,
    seen: {},
  };
}

function oneOf<T extends string>(words: readonly T[], value: unknown, otherwise: T): T {
  return words.find((word) => word === value) ?? otherwise;
}

function integerOrNull(value: unknown): number | null {
  if (value === null || value === undefined) return null;
  return olderInteger(value, 0, INTEGER_MAX, 0);
}

// Text that is not JSON was a list of words with commas.
function tagsOf(value: unknown): string[] {
  const parsed = olderJson(value);
  if (Array.isArray(parsed)) {
    return parsed.map((tag) => (typeof tag === 'string' ? tag : (JSON.stringify(tag) ?? '')));
  }
  return olderText(parsed === undefined || parsed === null ? value : parsed)
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '' && tag !== 'null');
}

function metadataOf(value: unknown): Record<string, unknown> {
  const text = olderText(value).trim();
  if (text === '' || text === 'null') return {};
  return olderObject(value) ?? { [UNREADABLE_METADATA_KEY]: olderText(value) };
}

function citationsOf(value: unknown): Citation[] {
  const parsed = olderJson(value);
  return Array.isArray(parsed) ? (parsed as Citation[]) : [];
}

// SQLite accepts NULL in a text primary key. The id is derived from the row, so a repeated upgrade gives the same id.
function idFor(row: OlderRow, rowid: number, crypto: Crypto): string {
  const name = ['memory without an id', rowid, olderText(row['namespace']), olderText(row['title'])];
  const hex = crypto.sha256Hex(JSON.stringify(name));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
