/** What one request of an import holds. */
export interface ImportPart {
  readonly memories: readonly unknown[];
  readonly links?: readonly unknown[];
  readonly records?: readonly unknown[];
}

/** Below what a node takes in one request: 1,000 memories, 2 MiB. */
const ROWS_MAX = 500;
const CHARACTERS_MAX = 600_000;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * The parts of an export that fit into one request each: first the memories, then what names them. Null for a file that is no
 * export.
 */
export function importParts(text: string): readonly ImportPart[] | null {
  const document = parsed(text);
  if (document === null || !Array.isArray(document['memories'])) return null;
  return [
    ...slices(document['memories']).map((memories) => ({ memories })),
    ...slices(listOf(document['links'])).map((links) => ({ memories: [], links })),
    ...slices(listOf(document['records'])).map((records) => ({ memories: [], records })),
  ];
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function slices(rows: readonly unknown[]): readonly (readonly unknown[])[] {
  const parts: unknown[][] = [];
  let room = 0;
  for (const row of rows) {
    const size = JSON.stringify(row).length;
    const last = parts.at(-1);
    if (last === undefined || last.length >= ROWS_MAX || size > room) {
      parts.push([row]);
      room = CHARACTERS_MAX - size;
    } else {
      last.push(row);
      room -= size;
    }
  }
  return parts;
}
