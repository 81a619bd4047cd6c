import { z } from 'zod';
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
} as const;

type Attached = { readonly [K in keyof typeof attachedOutput]?: z.input<(typeof attachedOutput)[K]> };

/** The standards of a namespace and of its chain that the caller may see; without a namespace, those of `*`. */
export async function attachedStandards(
  { services, now }: ReadCall,
  namespace: string | null,
  viewer: Viewer,
): Promise<Attached> {
  const found = await services.store.query({ kind: 'attached-standards', namespace, viewer, now });
  // The memories are worth answering without them; a damaged standard is already marked for its repair.
  const [first, ...more] = found.ok ? found.value.standards : [];
  if (first === undefined) return {};
  return more.length === 0
    ? { standard: { ...first } }
    : { standards: [first, ...more].map((one) => ({ ...one })) };
}
