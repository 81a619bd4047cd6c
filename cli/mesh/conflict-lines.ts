import type { Conflict, Contents } from '../../protocol/replication/queries.js';
import { clip, oneLine, printable } from '../views/text.js';
import type { PeerNames } from './peer-names.js';

/** Lines of a text that are shown. */
const LINES_SHOWN = 12;

/** Conflicts for people: what each is about, both texts, and what to do. */
export function conflictLines(conflicts: readonly Conflict[], names: PeerNames, columns: number): string {
  if (conflicts.length === 0) return 'no edit lost against another one\n';
  const blocks = conflicts.map((conflict) => linesOf(conflict, names, columns).join('\n'));
  return `${blocks.join('\n\n')}\n`;
}

function linesOf(conflict: Conflict, names: PeerNames, columns: number): string[] {
  const {
    kind,
    of,
    subject,
    namespace,
    op_id: operation,
    lost_at: at,
    lost_by: by,
    lost,
    present,
    taken,
    winner,
  } = conflict;
  const head = [`${of} ${subject}, namespace ${oneLine(namespace)}`];
  if (kind === 'title')
    return [
      ...head,
      `  its title "${oneLine(String(lost?.['title']))}" belongs to ${winner}`,
      `  to see it in lists again: mnemesh update ${subject} --title "another title"`,
    ];
  const written =
    at === null || by === null ? '' : `, written ${at.slice(0, 19).replace('T', ' ')} at ${names(by)}`;
  return [
    ...head,
    `  lost${written}`,
    ...textLines(lost, 'the log no longer holds it', columns),
    '  present',
    ...textLines(present, 'it was removed', columns),
    ...(taken ? ['  taken back'] : wayOut(of, lost, present, operation)),
  ];
}

function wayOut(
  of: string,
  lost: Contents | null,
  present: Contents | null,
  operation: string | null,
): string[] {
  if (of !== 'memory' || lost === null || operation === null) return [];
  return present === null ? [] : [`  mnemesh mesh conflicts take ${operation}`];
}

/** The title and the text of a memory, or all members of another subject. */
function textLines(contents: Contents | null, missing: string, columns: number): string[] {
  if (contents === null) return [`    (${missing})`];
  const { title, content } = contents;
  const text =
    typeof title === 'string' && typeof content === 'string'
      ? `${oneLine(title)}\n${content}`
      : JSON.stringify(contents, null, 1);
  const lines = printable(text).split('\n');
  const more = lines.length - LINES_SHOWN;
  return [
    ...lines.slice(0, LINES_SHOWN).map((line) => clip(`    ${line}`, columns)),
    ...(more > 0 ? [`    … (${more} more lines: --json)`] : []),
  ];
}
