import { characters } from '../../../protocol/base/utf8.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { StoreJob } from '../../../protocol/memory/store.js';
import type { Call } from '../../pipeline/call.js';

/** Why a model does not tag a memory after its store (reference-mcp-cli §6.4); a store into a namespace of the service is refused. */
export const AUTO_TAG_SKIPS = ['content_too_short', 'no_llm'] as const;
export type AutoTagSkip = (typeof AUTO_TAG_SKIPS)[number];

/** A shorter text has no tags that its title does not say. */
const CONTENT_LENGTH_MIN = 50;

/** False for a text that is too short for autonomous hooks. */
export const isLongEnough = (content: string): boolean => characters(content) >= CONTENT_LENGTH_MIN;

/** What a store says of the tags that a model adds later: to its command, and in its answer. */
export function autoTagging(
  { services: { settings, models } }: Call,
  { content }: Pick<Memory, 'content'>,
): { readonly jobs: readonly StoreJob[]; readonly answer: { readonly autonomy_hook_skipped?: AutoTagSkip } } {
  if (!settings.autonomousHooks) return { jobs: [], answer: {} };
  const skip = skipOf(content, models.missing('auto_tag') === null);
  return skip === null
    ? { jobs: [{ type: 'auto_tag', input: {} }], answer: {} }
    : { jobs: [], answer: { autonomy_hook_skipped: skip } };
}

function skipOf(content: string, hasModel: boolean): AutoTagSkip | null {
  if (!isLongEnough(content)) return 'content_too_short';
  return hasModel ? null : 'no_llm';
}
