import { defineRead } from '../decide/reads.js';
import type { Rule } from './rule-kind.js';

/** The rules about actions of a kind, or of all kinds; one more than `RULES_MAX` at most. */
export const rulesOn = defineRead<
  { readonly ruleKind: string | null; readonly skipDamaged: boolean },
  readonly Rule[]
>('rules');
