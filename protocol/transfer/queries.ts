import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { RecordImage, RecordPlace } from '../kinds/record.js';
import type { Link } from '../links/link.js';
import type { Kind, MemoryRow } from '../memory/memory.js';
import type { LeftOut } from '../memory/queries.js';

/** Queries of exports, each with its answer. */
export interface TransferQueries {
  readonly 'export-memories': Ask<
    ExportMemories,
    LeftOut & {
      readonly memories: readonly MemoryRow[];
      readonly more: boolean;
      /** The position of the last row that was read; null when there was no row. */
      readonly last: ExportPlace | null;
    }
  >;
  /** `next` is the position of the last link when more follow. */
  readonly 'export-links': Ask<
    ExportLinks,
    { readonly links: readonly Link[]; readonly next: ExportLinkPlace | null }
  >;
  readonly 'export-records': Ask<
    ExportRecords,
    LeftOut & {
      readonly records: readonly RecordImage[];
      readonly more: boolean;
      /** The position of the last row that was read; null when there was no row. */
      readonly last: RecordPlace | null;
    }
  >;
  /** The records that exist, in order of their ids. */
  readonly 'read-records': Ask<ReadRecords, { readonly records: readonly RecordImage[] }>;
}

/** A memory's position in an export: by creation and then by id. */
export interface ExportPlace {
  readonly created_at: Instant;
  readonly id: string;
}

/**
 * A link's position: its source's position, then its own among the source's links. Without `link`: after all links of
 * the source.
 */
export interface ExportLinkPlace extends ExportPlace {
  readonly link: { readonly target_id: string; readonly relation: string } | null;
}

/** Visible memories after a position. */
export interface ExportMemories {
  readonly kind: 'export-memories';
  readonly viewer: Viewer;
  /** A namespace or subtree; everything unless given. */
  readonly namespace?: string | null;
  /** Only memories of this kind; of all kinds unless given. */
  readonly ofKind?: Kind;
  readonly now: Instant;
  readonly after: ExportPlace | null;
  readonly limit: number;
  /** The page ends before the row that would exceed this size. */
  readonly bytesMax: number;
}

/** Links after a position whose source comes no later than `until` and whose two ends are visible. */
export interface ExportLinks {
  readonly kind: 'export-links';
  readonly viewer: Viewer;
  /** Where the source of a link is. */
  readonly namespace?: string | null;
  readonly now: Instant;
  readonly after: ExportLinkPlace | null;
  readonly until: ExportPlace | null;
  readonly limit: number;
}

/** Records of all exported kinds after a position, by kind and id. */
export interface ExportRecords {
  readonly kind: 'export-records';
  /** What rules about reads keep from the caller who exports. */
  readonly withheld?: Viewer['withheld'];
  readonly namespace?: string | null;
  readonly after: RecordPlace | null;
  readonly limit: number;
  /** The page ends before the record that would exceed this size. */
  readonly bytesMax: number;
}

/** Records of one kind by their ids. */
export interface ReadRecords {
  readonly kind: 'read-records';
  /** The name of the kind. */
  readonly of: string;
  /** At most `READ_RECORDS_MAX`. */
  readonly ids: readonly string[];
}
