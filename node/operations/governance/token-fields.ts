import { z } from 'zod';
import { withinProblem } from '../../../protocol/base/within.js';

export const SECS_MAX = 366 * 86_400;
export const NAMESPACES_MAX = 64;

/** A place of a token: a namespace, `team/**` for one and all below it, or `**`. */
export const tokenPattern = z.string().superRefine((value, context) => {
  const message = withinProblem(value);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
