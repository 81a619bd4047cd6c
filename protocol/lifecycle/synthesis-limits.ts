/** Older memories that a model sees beside a stored one are as many as there are similar titles: at most five. */
export const SYNTHESIS_DELETES = 1;
/** Characters of a text that takes part, where the policy does not say it, and at most. */
export const SYNTHESIS_TEXT_CHARS = 1500;
export const SYNTHESIS_TEXT_CHARS_MAX = 6000;
