import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import type {
  CurateConsolidation,
  CurateForget,
  CurateMetadata,
  CuratePriority,
} from '../../../protocol/curation/curate.js';
import type { StoreCurationReport } from '../../../protocol/curation/report.js';
import { defineOperation } from '../../pipeline/operation.js';
import { writeReflection } from '../reflections/new-reflection.js';

/** What the curator writes. */
export type CuratorCommand =
  | CurateConsolidation
  | CurateForget
  | CurateMetadata
  | CuratePriority
  | StoreCurationReport;

const done = z.object({ id: z.string() });

/** Gives a command of the curator, under policies, hooks and audit. No surface has it. */
export const curatorWrite = defineOperation({
  name: 'curator_write',
  family: 'power',
  summary: 'Write what the curator decided.',
  input: z.object({ command: z.custom<CuratorCommand>() }),
  output: done,
  effect: 'write',
  guards: { attestation: 'by-name' },
  run: async (call, { command }) => {
    const written = await call.services.store.execute(command);
    return written.ok ? ok({ id: written.value.id }) : failed(written.error);
  },
});

/** Writes a reflection of the curator, as every other is written. No surface has it. */
export const curatorReflect = defineOperation({
  name: 'curator_reflect',
  family: 'power',
  summary: 'Write a reflection of the curator.',
  input: z.object({
    source_ids: z.array(z.string()),
    title: z.string(),
    content: z.string(),
    namespace: z.string(),
  }),
  output: done,
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  storesKeyed: true,
  run: async (call, said) => {
    const written = await writeReflection(call, {
      ...said,
      ...{ tier: 'mid', tags: ['reflection'], priority: 5, confidence: 1, metadata: {}, source: 'system' },
    });
    return written.ok ? ok({ id: written.value.stored.id }) : failed(written.error);
  },
});
