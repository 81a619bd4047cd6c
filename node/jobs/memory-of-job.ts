import { failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { Caller } from '../identity/caller.js';
import { memoryUpdate } from '../operations/lifecycle/memory-update.js';
import type { Answer } from '../pipeline/answer.js';
import type { RunOfJob } from './job-work.js';

/** A memory as the agent of a job sees it; null for one that is gone. */
export async function memoryOfJob(
  { services, caller }: RunOfJob,
  id: string,
): Promise<Result<MemoryRow | null>> {
  const now = instantFromMs(services.clock.nowMs());
  const { viewer } = caller;
  const found = await services.store.query({ kind: 'get-memory', id, linksMax: 0, viewer, now });
  if (found.ok) return ok(found.value.memory);
  return found.error.code === 'NOT_FOUND' ? ok(null) : failed(found.error);
}

/** True while a memory says what a model has read. */
export const saysStill = (read: MemoryRow, now: MemoryRow | null): now is MemoryRow =>
  now !== null &&
  now.title === read.title &&
  now.content === read.content &&
  now.namespace === read.namespace;

/** Memories with similar titles in its namespace, as far as the agent of a job sees them. */
export async function similarMemories(
  run: RunOfJob,
  memory: MemoryRow,
): Promise<Result<readonly MemoryRow[]>> {
  const { services, caller } = run;
  const found = await services.store.query({
    ...{ kind: 'similar-titles', namespace: memory.namespace, title: memory.title, exceptId: memory.id },
    ...{ viewer: caller.viewer, now: instantFromMs(services.clock.nowMs()) },
  });
  if (!found.ok) return failed(found.error);
  const rows: MemoryRow[] = [];
  for (const id of found.value.ids) {
    const row = await memoryOfJob(run, id);
    if (!row.ok) return failed(row.error);
    if (row.value !== null) rows.push(row.value);
  }
  return ok(rows);
}

/** How often an edit is tried again while others change the metadata of its memory. */
const EDITS_MAX = 5;

export interface EditOfJob {
  readonly name: string;
  /** What changes in the memory as it is now. */
  readonly change: (row: MemoryRow) => object;
  readonly caller?: Caller;
}

/** Edits a memory while it says what a model has read; VERSION_CONFLICT when it says something else now. */
export async function editRead(run: RunOfJob, read: MemoryRow, edit: EditOfJob): Promise<Answer> {
  const { name, change, caller = run.caller } = edit;
  let row = read;
  for (let left = EDITS_MAX; ; left -= 1) {
    const input = { id: row.id, ...change(row), expected_version: row.version };
    const edited = await run.call(memoryUpdate, { name, input, caller });
    if (edited.ok || edited.error.code !== 'VERSION_CONFLICT' || left === 0) return edited;
    const found = await memoryOfJob(run, row.id);
    if (!found.ok) return failed(found.error);
    if (!saysStill(read, found.value)) return edited;
    row = found.value;
  }
}

/** Names the text that a model has read, for the steps of a job. */
export const textHash = ({ services }: RunOfJob, { title, content }: MemoryRow): string =>
  services.crypto.sha256Hex(JSON.stringify([title, content])).slice(0, 16);
