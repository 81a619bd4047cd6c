import { valueText } from './format.js';

/** A memory as it is, as far as its members are known. */
export type Before = Readonly<Record<string, unknown>>;

export interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** What people compare; the text itself is shown line by line. */
const MEMBERS: readonly string[] = [
  ...[
    'title',
    'namespace',
    'tier',
    'kind',
    'tags',
    'priority',
    'confidence',
    'expires_at',
    'scope',
    'source_uri',
  ],
];

const objectOf = (value: unknown): Before | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Before) : null;

/**
 * What a waiting action would change. The request says it in its own words, or as `becomes`, or in a member that holds
 * the memory or its changes.
 */
export function changesOf(
  before: Before | null,
  payload: Before,
): { readonly rows: readonly Change[]; readonly before: string | null; readonly after: string | null } {
  const becomes = objectOf(payload['becomes']);
  const nested = ['memory', 'changes', 'patch', 'fields'].map((name) => objectOf(payload[name]));
  const wanted = Object.assign({}, payload, ...nested.filter((each) => each !== null), becomes) as Before;
  const rows = MEMBERS.filter((name) => wanted[name] !== undefined)
    .map((name) => ({ name, before: valueText(before?.[name]), after: valueText(wanted[name]) }))
    .filter((row) => row.before !== row.after);
  const content = wanted['content'];
  const present = before?.['content'];
  return {
    rows,
    before: typeof present === 'string' ? present : null,
    after: typeof content === 'string' && content !== present ? content : null,
  };
}
