import { z } from 'zod';
import { ok, type Result } from '../../../protocol/base/result.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import type { ReadCall } from '../../pipeline/call.js';

export const attachedStandard = z.object({
  namespace: z.string(),
  id: z.string(),
  title: z.string(),
  content: z.string(),
});

/** The standards in an answer: one as `standard`, several as `standards` (reference-mcp-cli §1.2). */
export const attachedOutput = {
  standard: attachedStandard
    .describe('The standard of the namespace or of one that it inherits from')
    .optional(),
  standards: z
    .array(attachedStandard)
    .describe('The same when there are several, the most general first')
    .optional(),
  standards_omitted: z
    .array(z.string())
    .describe('Ids of standards that the budget of tokens leaves no room for; read them by their ids')
    .optional(),
} as const;

type Attached = { readonly [K in keyof typeof attachedOutput]?: z.input<(typeof attachedOutput)[K]> };

/** The standards of an answer, and the tokens of their texts where a budget counts them. */
interface WithinBudget {
  readonly attached: Attached;
  readonly tokens: number;
}

type Standard = z.input<typeof attachedStandard>;

/** The standards of a namespace and of its chain that the caller may see; without a namespace, those of `*`. */
export async function standardsOf(
  { services, now }: ReadCall,
  namespace: string | null,
  viewer: Viewer,
): Promise<readonly Standard[]> {
  const found = await services.store.query({ kind: 'attached-standards', namespace, viewer, now });
  // The memories are worth answering without them; a damaged standard is already marked for its repair.
  return found.ok ? found.value.standards : [];
}

/**
 * The standards that an answer carries. They take at most half of a stated budget, the nearest namespace first, so that rows
 * have the other half; the others are named.
 */
export async function attachedStandards(
  { services }: ReadCall,
  standards: readonly Standard[],
  budget: number | null,
): Promise<Result<WithinBudget>> {
  if (budget === null || standards.length === 0) return ok({ attached: shown(standards, []), tokens: 0 });
  const share = Math.floor(budget / 2);
  const nearest = standards.map(({ content }) => content).reverse();
  const counted = share === 0 ? ok([]) : await services.tokens.counts(nearest, share);
  if (!counted.ok) return counted;
  let tokens = 0;
  let kept = 0;
  for (const count of counted.value) {
    if (tokens + count > share) break;
    tokens += count;
    kept += 1;
  }
  const omitted = standards.length - kept;
  return ok({ attached: shown(standards.slice(omitted), standards.slice(0, omitted)), tokens });
}

function shown(standards: readonly Standard[], omitted: readonly Standard[]): Attached {
  const [first, ...more] = standards;
  return {
    ...(first !== undefined && more.length === 0 ? { standard: { ...first } } : {}),
    ...(more.length > 0 ? { standards: standards.map((one) => ({ ...one })) } : {}),
    ...(omitted.length > 0 ? { standards_omitted: omitted.map(({ id }) => id) } : {}),
  };
}
