import { KINDS } from '../../../protocol/memory/memory.js';
import { type Json, textIn } from '../../mine/text-of.js';
import type { SourceRow } from '../format.js';
import { listOf } from '../row-text.js';

/** The names that programs give to the members of a row, the usual one first. */
const MEMBERS = {
  content: ['content', 'text', 'body', 'memory', 'note', 'value'],
  title: ['title', 'name', 'subject', 'heading'],
  tags: ['tags', 'labels', 'categories'],
  kind: ['kind', 'memory_kind'],
  namespace: ['namespace'],
  id: ['id', 'uuid', 'key'],
} as const;
type Member = keyof typeof MEMBERS;

/** The name under which a row has a member; undefined where it has none with a text in it. */
function nameIn(row: Json, member: Member): string | undefined {
  return MEMBERS[member].find((name) => row[name] !== undefined && row[name] !== null && row[name] !== '');
}

/** True for a row that holds a text. */
export const hasContent = (row: Json): boolean => {
  const name = nameIn(row, 'content');
  return name !== undefined && typeof row[name] === 'string';
};

/** True for the names of columns of which one holds a text. */
export const namesContent = (names: readonly string[]): boolean =>
  MEMBERS.content.some((name) => names.includes(name));

/** A row of a table or of lines. Null where it holds no text. `digest` names a row that has no id. */
export function rowOf(row: Json, from: string, digest: (text: string) => string): SourceRow | null {
  if (!hasContent(row)) return null;
  const used = Object.fromEntries(
    (Object.keys(MEMBERS) as Member[]).map((member) => [member, nameIn(row, member)]),
  ) as Readonly<Record<Member, string | undefined>>;
  const value = (member: Member) => (used[member] === undefined ? undefined : row[used[member]]);
  const id = value('id');
  const key = typeof id === 'string' || typeof id === 'number' ? `id/${id}` : null;
  const kind = textIn(value('kind'));
  const isKind = kind !== null && (KINDS as readonly string[]).includes(kind);
  const taken = new Set(
    [used.content, used.title, used.tags, used.namespace, isKind ? used.kind : undefined].filter(
      (name) => name !== undefined,
    ),
  );
  const claims = Object.fromEntries(
    Object.entries(row).filter(
      ([name, said]) => !taken.has(name) && said !== null && said !== '' && said !== undefined,
    ),
  );
  return {
    key: key ?? `row/${digest(JSON.stringify(row))}`,
    title: textIn(value('title')),
    content: String(value('content')),
    tags: listOf(value('tags')),
    kind: isKind ? kind : null,
    place: (textIn(value('namespace')) ?? '').split('/').filter((part) => part !== ''),
    claims,
    from,
    names: key === null ? [] : [String(id)],
    links: [],
  };
}
