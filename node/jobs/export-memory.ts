import { join } from 'node:path';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { exportFolder, removeExportedFiles } from '../exported-files.js';
import { type ReflectionFile, reflectionFile } from '../operations/reflections/reflection-file.js';
import { writeBelow } from '../write-below.js';
import type { JobWork, RunOfJob } from './job-work.js';

/** Writes a reflection or a persona into a file of the home. It is written again after a kill, to the same bytes. */
export const exportMemory: JobWork<JobInput<'export_memory'>> = async (run, { memory_id: id }) => {
  const { store, clock, settings, random } = run.services;
  const { viewer } = run.caller;
  const now = instantFromMs(clock.nowMs());
  const found = await store.query({ kind: 'get-memory', id, linksMax: 0, viewer, now });
  if (!found.ok)
    return found.error.code === 'NOT_FOUND' ? ok({ skipped: 'the memory is gone' }) : failed(found.error);
  const { memory } = found.value;
  const file = await fileOf(run, memory, now);
  if (!file.ok) return failed(file.error);
  const folder = exportFolder(settings.home, memory.kind);
  const problem = writeBelow(folder, file.value, random.uuid().slice(0, 8));
  if (problem !== null) return fail('UNAVAILABLE', `${join(folder, file.value.name)}: ${problem}`);
  // An erasure that came meanwhile did not find the file.
  const again = await store.query({ kind: 'get-memory', id, linksMax: 0, viewer, now });
  if (!again.ok && again.error.code === 'NOT_FOUND') {
    removeExportedFiles(settings.home, [id]);
    return ok({ skipped: 'the memory is gone' });
  }
  return ok({ file: join(folder, file.value.name) });
};

async function fileOf(run: RunOfJob, memory: MemoryRow, now: string): Promise<Result<ReflectionFile>> {
  if (memory.kind !== 'persona') {
    const { services, caller } = run;
    return reflectionFile({ services, caller, now }, memory, 'md');
  }
  const name = `${memory.namespace}/${memory.id}.md`;
  return ok({ name, content: memory.content });
}
