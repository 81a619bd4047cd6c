import { utf8Bytes } from '../../../protocol/base/utf8.js';
import * as limits from '../../../protocol/lifecycle/atom-limits.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { StoreJob } from '../../../protocol/memory/store.js';
import type { Call } from '../../pipeline/call.js';

/** Tokens up to which a memory stays whole where the policy does not say it. */
const THRESHOLD_TOKENS = 500;
/** Retries that a policy can ask for. */
const RETRIES_MAX = 10;

/**
 * What a store says to its command of a model that splits the memory later: the nearest policy decides that the caller
 * sees. Nothing is read where no model could do it, and for a text that is short in any case.
 */
export async function autoAtomising(
  { services: { store, models }, caller: { viewer }, now }: Call,
  { content, namespace }: Pick<Memory, 'content' | 'namespace'>,
): Promise<readonly StoreJob[]> {
  // A token has at least one byte.
  const bytes = utf8Bytes(content);
  if (bytes <= limits.ATOM_TOKENS_MIN || models.missing('atomise') !== null) return [];
  const found = await store.query({ kind: 'read-standards', namespace, inherit: true, viewer, now });
  if (!found.ok) return [];
  const said = (member: string): unknown =>
    found.value.standards.findLast(({ governance }) => governance?.[member] !== undefined)?.governance?.[
      member
    ];
  const mode = said('auto_atomise_mode') ?? (said('auto_atomise') === true ? 'deferred' : 'off');
  const threshold = numberOf(said('auto_atomise_threshold_cl100k'), THRESHOLD_TOKENS);
  if (mode === 'off' || bytes <= threshold) return [];
  const most = numberOf(said('auto_atomise_max_atom_tokens'), limits.ATOM_TOKENS);
  const max_tokens = Math.min(limits.ATOM_TOKENS_MAX, Math.max(limits.ATOM_TOKENS_MIN, most));
  const retries = said('auto_atomise_max_retries');
  const attempts = typeof retries === 'number' ? { attempts: 1 + Math.min(RETRIES_MAX, retries) } : {};
  return [{ type: 'auto_atomise', input: { threshold, max_tokens, ...attempts } }];
}

const numberOf = (value: unknown, usual: number): number => (typeof value === 'number' ? value : usual);
