import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { NO_REST, type Rest } from '../../protocol/kinds/payload.js';
import type { Kind, Memory, MemoryRow, Tier } from '../../protocol/memory/memory.js';
import { validityAt } from '../../protocol/memory/validity.js';
import { DamagedRowError } from './damage.js';

/** Columns of `memories` that form a MemoryRow, in insert order; `kind` is stored as `memory_kind`. */
export const ROW_COLUMNS = [
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
  'memory_kind',
  'reflection_depth',
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
  'write_signature',
  'created_hlc',
  'edited',
  'rest',
  'hlc',
  'origin',
  'origin_seq',
  'seen',
] as const;

/** The select list of a MemoryRow over the alias `m`. */
export const SELECT_ROW = `m.rid, m.life_at, ${ROW_COLUMNS.map((column) => `m.${column}`).join(', ')}`;

type SqlValue = string | number | null;
export type SqlRow = Record<string, SqlValue>;

const EMPTY_ARRAY: readonly never[] = [];
const EMPTY_OBJECT = {};

/** `ifEmpty` is shared by all rows whose value is empty. */
function parseJson<T>(text: SqlValue, ifEmpty: T): T {
  return text === null || text === '[]' || text === '{}' ? ifEmpty : parsedJson<T>(text);
}

/** Null only for a column that holds nothing: an empty object is a value. */
const parseOrNull = <T>(text: SqlValue): T | null => (text === null ? null : parsedJson<T>(text));

function parsedJson<T>(text: SqlValue): T {
  const value: unknown = JSON.parse(text as string);
  if (typeof value !== 'object' || value === null)
    throw new TypeError('a column cannot hold an array or an object');
  return value as T;
}

/** Converts a row of `memories` (selected with SELECT_ROW) to a MemoryRow; throws DamagedRowError. */
export function memoryFromSql(row: SqlRow): MemoryRow {
  try {
    return parsed(row);
  } catch {
    throw new DamagedRowError('memory', String(row['id']));
  }
}

/** The readable rows of a page; it leaves out the others and notes their ids. */
export class PageRows {
  readonly rows: MemoryRow[] = [];
  private readonly damaged: string[] = [];

  take(row: SqlRow): void {
    try {
      this.rows.push(memoryFromSql(row));
    } catch {
      this.damaged.push(String(row['id']));
    }
  }

  /** Rows that were examined, readable or not. */
  get looked(): number {
    return this.rows.length + this.damaged.length;
  }

  /** The part of the answer that names the rows left out. */
  get leftOut(): { readonly damaged?: readonly string[] } {
    return this.damaged.length === 0 ? {} : { damaged: this.damaged };
  }
}

function parsed(row: SqlRow): MemoryRow {
  return {
    rid: (row['rid'] ?? 0) as number,
    life_at: (row['life_at'] ?? null) as string | null,
    id: row['id'] as string,
    tier: row['tier'] as Tier,
    namespace: row['namespace'] as string,
    title: row['title'] as string,
    content: row['content'] as string,
    tags: parseJson(row['tags']!, EMPTY_ARRAY),
    priority: row['priority'] as number,
    confidence: row['confidence'] as number,
    source: row['source'] as string,
    access_count: row['access_count'] as number,
    created_at: row['created_at'] as string,
    updated_at: row['updated_at'] as string,
    last_accessed_at: row['last_accessed_at'] as string | null,
    expires_at: row['expires_at'] as string | null,
    metadata: parseJson(row['metadata']!, EMPTY_OBJECT),
    kind: row['memory_kind'] as Kind,
    reflection_depth: row['reflection_depth'] as number,
    atomised_into: row['atomised_into'] as number | null,
    atom_of: row['atom_of'] as string | null,
    entity_id: row['entity_id'] as string | null,
    persona_version: row['persona_version'] as number | null,
    citations: parseJson(row['citations']!, EMPTY_ARRAY),
    source_uri: row['source_uri'] as string | null,
    source_span: parseOrNull(row['source_span']!),
    confidence_source: row['confidence_source'] as string,
    confidence_signals: parseOrNull(row['confidence_signals']!),
    confidence_decayed_at: row['confidence_decayed_at'] as string | null,
    mentioned_entity_id: row['mentioned_entity_id'] as string | null,
    version: row['version'] as number,
    write_signature: parseOrNull(row['write_signature']!),
    created_hlc: row['created_hlc'] as string,
    edited: row['edited'] as string,
    ...laterFromSql(row['rest']!),
    hlc: row['hlc'] as string,
    origin: row['origin'] as string,
    origin_seq: row['origin_seq'] as number,
    seen: parseJson(row['seen']!, EMPTY_OBJECT),
  };
}

/** Members of a memory that came after the first format of its kind; they lie in `rest`, where an earlier release keeps them. */
type LaterMembers = Pick<Memory, 'valid_from' | 'valid_until' | 'conversation' | 'turn' | 'rest'>;

const NO_LATER: LaterMembers = Object.freeze({
  ...{ valid_from: null, valid_until: null, conversation: null, turn: null },
  rest: NO_REST,
});

function laterFromSql(text: SqlValue): LaterMembers {
  const held = restFromSql(text);
  if (held === NO_REST) return NO_LATER;
  const {
    valid_from = null,
    valid_until = null,
    conversation = null,
    turn = null,
    ...rest
  } = held as Partial<LaterMembers>;
  const unknown = Object.keys(rest).length === 0 ? NO_REST : (rest as Rest);
  return { valid_from, valid_until, conversation, turn, rest: unknown };
}

/** Whether a row holds at an instant, and is a turn of a conversation, by the column of its later members. */
export function standingOf(text: string, at: string): { readonly holds: boolean; readonly spoken: boolean } {
  if (text === '{}') return ORDINARY;
  try {
    const later = laterFromSql(text);
    return {
      holds: validityAt(later, at) === 'valid',
      spoken: later.conversation !== null && later.turn !== null,
    };
  } catch {
    return ORDINARY;
  }
}

const ORDINARY = Object.freeze({ holds: true, spoken: false });

function laterToSql({ valid_from, valid_until, conversation, turn, rest }: LaterMembers): string {
  if (valid_from === null && valid_until === null && conversation === null && turn === null)
    return restToSql(rest);
  const later = { valid_from, valid_until, conversation, turn };
  const set = Object.entries(later).filter(([, value]) => value !== null);
  return restToSql({ ...rest, ...Object.fromEntries(set) });
}

/** Members that this release does not know, from their column. */
export function restFromSql(text: SqlValue): Rest {
  return parseJson<Rest>(text, NO_REST);
}

export function restToSql(rest: Rest): string {
  return rest === NO_REST ? '{}' : canonicalJson(rest);
}

const jsonOrNull = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

/** The values of ROW_COLUMNS for a memory, in that order. */
export function memoryToSql(memory: Memory): SqlValue[] {
  return [
    memory.id,
    memory.tier,
    memory.namespace,
    memory.title,
    memory.content,
    JSON.stringify(memory.tags),
    memory.priority,
    memory.confidence,
    memory.source,
    memory.access_count,
    memory.created_at,
    memory.updated_at,
    memory.last_accessed_at,
    memory.expires_at,
    JSON.stringify(memory.metadata),
    memory.kind,
    memory.reflection_depth,
    memory.atomised_into,
    memory.atom_of,
    memory.entity_id,
    memory.persona_version,
    JSON.stringify(memory.citations),
    memory.source_uri,
    jsonOrNull(memory.source_span),
    memory.confidence_source,
    jsonOrNull(memory.confidence_signals),
    memory.confidence_decayed_at,
    memory.mentioned_entity_id,
    memory.version,
    jsonOrNull(memory.write_signature),
    memory.created_hlc,
    memory.edited,
    laterToSql(memory),
    memory.hlc,
    memory.origin,
    memory.origin_seq,
    JSON.stringify(memory.seen),
  ];
}
