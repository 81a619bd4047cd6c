import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memorySearch } from '../../node/operations/core/memory-search.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';

/** A memory that an import made. */
export interface ImportedRow {
  readonly id: string;
  readonly title: string;
  readonly version: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Who imports, and through what. */
export interface Importing {
  readonly runner: LocalRunner;
  readonly caller: Caller;
}

/** The memory of a source; null when it is not here, or not for the caller. */
export async function importedRow(
  { runner, caller }: Importing,
  uri: string,
): Promise<Result<ImportedRow | null>> {
  const input = { source_uri: uri, limit: 1, include_archived: true };
  const found = await runner.run(memorySearch, { surface: 'cli', caller, input, unknownFields: 'refuse' });
  if (!found.ok) return failed(found.error);
  const [row] = found.value['results'] as readonly ImportedRow[];
  return ok(row ?? null);
}

/** True while nobody has changed a memory since an import wrote it. */
export const isUntouched = ({ version, metadata }: ImportedRow): boolean =>
  metadata['import_version'] === version;

/** Looks for rows, some at a time. */
export async function inTurns<In, Out>(
  items: readonly In[],
  atOnce: number,
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    done.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return done;
}
