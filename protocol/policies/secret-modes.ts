/** What a node does with a text that holds a secret, from the least to the most strict. */
export const SECRET_MODES = ['off', 'warn', 'redact', 'refuse'] as const;
export type SecretMode = (typeof SECRET_MODES)[number];

/** What became of a secret that was found: it is in the text, was taken out of it, or the text was refused. */
export type SecretOutcome = 'kept' | 'redacted' | 'refused';
