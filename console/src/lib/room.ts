const STEPS: Readonly<Record<string, string>> = {
  history: 'Texts of the log that later versions superseded',
  expired: 'Memories that have expired',
  archived: 'Copies in the archive, the oldest first',
  short: 'Memories of the short tier, the first that expires first',
  unused: 'Memories that nobody changed or read for 30 days, the lowest priority first',
};

/** What a step removes, in words. */
export const stepText = (step: string): string => STEPS[step] ?? step;

const STATES: Readonly<Record<string, readonly [text: string, look: string]>> = {
  'no limit': ['There is no limit: nothing goes to make room.', ''],
  enough: ['There is room.', 'good'],
  low: ['It becomes full: memories go at 90 % of the limit, in the order below.', 'warm'],
  full: ['It is full: stores and longer texts are refused, reads and deletions work.', 'badtext'],
};

/** The state of the room and how it looks. */
export const stateText = (state: string): readonly [text: string, look: string] =>
  STATES[state] ?? [state, ''];

/** How much of the limit is used, in whole percents of at most 100; null without a limit. */
export const usedPercent = (used: number | null, max: number | null): number | null =>
  used === null || max === null || max <= 0 ? null : Math.min(100, Math.round((used / max) * 100));
