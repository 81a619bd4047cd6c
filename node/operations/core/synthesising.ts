import * as limits from '../../../protocol/lifecycle/synthesis-limits.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { StoreJob } from '../../../protocol/memory/store.js';
import type { Call } from '../../pipeline/call.js';
import { isLongEnough } from './auto-tagging.js';

/** The members of a policy of which any asks for a synthesis. */
const MEMBERS = [
  'synthesis_failure_mode',
  'synthesis_max_deletes_per_call',
  'synthesis_max_candidate_chars',
] as const;

/**
 * How a model compares a memory with older ones after its store, where the policies of its namespace ask for that and
 * autonomous hooks are on: in a synthesis, which rewrites and deletes, or pair by pair, which only notes.
 */
export async function synthesising(
  { services: { settings, store, models } }: Call,
  { content, namespace }: Pick<Memory, 'content' | 'namespace'>,
): Promise<readonly StoreJob[]> {
  if (!settings.autonomousHooks || !isLongEnough(content)) return [];
  const [synthesises, compares] = [models.missing('synthesis'), models.missing('detect_contradiction')];
  if (synthesises !== null && compares !== null) return [];
  const found = await store.query({ kind: 'governance-at', namespaces: [namespace] });
  if (!found.ok) return [];
  const policy = found.value.governance[0]!;
  if (policy['legacy_per_pair_classifier'] === true)
    return compares === null ? [{ type: 'compare_pairs', input: {} }] : [];
  if (synthesises !== null || MEMBERS.every((member) => policy[member] === undefined)) return [];
  const deletes_max = numberOf(policy['synthesis_max_deletes_per_call'], limits.SYNTHESIS_DELETES);
  const chars = numberOf(policy['synthesis_max_candidate_chars'], limits.SYNTHESIS_TEXT_CHARS);
  const text_chars = Math.min(chars, limits.SYNTHESIS_TEXT_CHARS_MAX);
  return [{ type: 'synthesis', input: { deletes_max, text_chars } }];
}

const numberOf = (value: unknown, usual: number): number => (typeof value === 'number' ? value : usual);
