export interface LookAlikeNote {
  readonly title: string;
  readonly content: string;
}

const NAMES = ['Ann', 'Ben', 'Chloe', 'Dmitri', 'Emeka', 'Fatima', 'Greta', 'Hiro', 'Ines', 'Jonas'];
const two = (n: number) => String(n).padStart(2, '0');
const dayOf = (n: number) => `2026-${two(1 + (Math.floor(n / 28) % 12))}-${two(1 + (n % 28))}`;

/** Each family differs from note to note only in a number, a date, a name, a negation or an identifier. */
const FAMILIES: readonly ((n: number) => LookAlikeNote)[] = [
  (n) => ({
    title: `Host db-${n}`,
    content: `The host db-${n} runs Postgres in hall B, is patched every month and is watched by the database team.`,
  }),
  (n) => ({
    title: `Standup of ${dayOf(n)}`,
    content: `Standup of ${dayOf(n)}: everybody was there, nothing is blocked, and the next review is planned as usual.`,
  }),
  (n) => ({
    title: `Key holder ${n}: ${NAMES[n % NAMES.length]}`,
    content: `${NAMES[n % NAMES.length]} has the key of the server room and must hand it to the front desk before a holiday.`,
  }),
  (n) => ({
    title: `Backups of tenant ${n}`,
    content: `Backups of tenant ${n} may ${n % 2 === 0 ? '' : 'not '}run during the day, because their users work in this time zone.`,
  }),
  (n) => ({
    title: `Ticket OPS-${4000 + n}`,
    content: `The ticket OPS-${4000 + n} waits for the vendor, who wants logs of the last week and a packet capture.`,
  }),
];

/** Notes that look alike, family by family in turn. */
export const lookAlikeNotes = (count: number): readonly LookAlikeNote[] =>
  Array.from({ length: count }, (_, n) => FAMILIES[n % FAMILIES.length]!(Math.floor(n / FAMILIES.length)));

export const LOOK_ALIKE_FAMILIES = FAMILIES.length;
