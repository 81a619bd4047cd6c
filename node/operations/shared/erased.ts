import { z } from 'zod';
import { finishErasures } from '../../../actors/maintenance/erasures.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { removeExportedFiles } from '../../exported-files.js';
import type { Call } from '../../pipeline/call.js';

export const eraseField = z
  .boolean()
  .default(false)
  .describe('Nothing is left of it on any node, and it never comes back');

/** Memories made from the erased ones that an answer names. */
const DERIVED_MAX = 100;
/** How long a call waits until its node has overwritten what it held; the rest is done behind it. */
const WAIT_MS = 500;
/** A command of the machine may have no process that does the rest. */
const WAIT_OF_COMMAND_MS = 60_000;

/** What an answer says of memories that were erased. */
export const erasureOutput = z.object({
  erased: z.boolean().optional(),
  finished_here: z.boolean().optional().describe('This node has overwritten what it held'),
  derived: z.array(z.string()).optional().describe('Memories made from it, which stay'),
});

type ErasureAnswer = z.output<typeof erasureOutput>;

/** Finishes on this node what a call erased, and finds what was made from it. */
export async function erasedHere(call: Call, ids: readonly string[]): Promise<Result<ErasureAnswer>> {
  const { store, clock, settings } = call.services;
  const removeFiles = (files: readonly string[]) => removeExportedFiles(settings.home, files);
  const { viewer } = call.caller;
  const made = await store.query({
    kind: 'derived-memories',
    ids,
    viewer,
    now: call.now,
    limit: DERIVED_MAX,
  });
  if (!made.ok) return failed(made.error);
  const waitMs = call.surface === 'cli' ? WAIT_OF_COMMAND_MS : WAIT_MS;
  const finished = await finishErasures({ store, clock, removeFiles }, call.now, waitMs, {});
  // The erasure itself is done; the duty of the owner tries again.
  const finished_here = finished.ok && finished.value === 'done';
  return ok({ erased: true, finished_here, derived: [...made.value.ids] });
}

/** What the command line says. */
export function erasedText(
  what: string,
  { finished_here: here, derived }: Readonly<Record<string, unknown>>,
): readonly string[] {
  const rest = here === true ? '' : '; this node has not finished yet';
  const made =
    Array.isArray(derived) && derived.length > 0
      ? [`made from it, and still there: ${derived.join(', ')}`]
      : [];
  return [`erased: ${what}${rest} (mnemesh erasure status shows the other nodes)`, ...made];
}
