/** What to do when (title, namespace) is taken (reference-http §2.3). */
export const ON_CONFLICT = ['error', 'merge', 'version'] as const;

export type OnConflict = (typeof ON_CONFLICT)[number];
