import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Conflict } from '../../protocol/replication/queries.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { operationTable } from '../operation-table.js';
import type { Terminal } from '../terminal.js';
import { conflictLines } from './conflict-lines.js';
import { peerNames } from './peer-names.js';

const LIMIT = 50;
const LIMIT_MAX = 1000;

/** Lists versions that lost against one that was written at the same time, and takes one back. */
export const conflictsCommand = defineCommand({
  name: 'mesh conflicts',
  summary:
    'Show edits that lost against one made at the same time on another node, with both texts, or take one back.',
  positionals: [
    { name: 'action', required: false, choices: ['take'], doc: 'take: write the text that lost again' },
    {
      name: 'id',
      required: false,
      doc: 'Of the conflict to take back, or of its memory; the beginning is enough',
    },
  ],
  flags: [
    {
      name: 'limit',
      short: 'n',
      kind: 'value',
      value: 'number',
      doc: `At most this many (default ${LIMIT})`,
    },
    { name: 'all', kind: 'switch', doc: 'Also edits that were taken back since' },
    { name: 'dry-run', kind: 'switch', doc: 'With take: only show what would change' },
  ],
  examples: ['mesh conflicts', 'mesh conflicts take 3f2a', 'mesh conflicts --limit 500 --json'],
  run: async (parsed, terminal) => {
    const [action, id] = parsed.positionals;
    if (action === undefined) return list(parsed, terminal);
    if (id === undefined)
      return fail(
        'VALIDATION_FAILED',
        'missing required argument: <id> of a conflict that "mesh conflicts" shows',
        {
          fields: ['id'],
        },
      );
    return take(parsed, id, terminal);
  },
});

const conflictsOf = (parsed: ParsedArguments, limit: number) =>
  withNode(parsed, async ({ store }) =>
    store.query({ kind: 'list-conflicts', limit, open: !isSet(parsed, 'all') }),
  );

/** Runs a question on the files of this node. */
async function withNode<T>(
  parsed: ParsedArguments,
  ask: (services: Parameters<Parameters<typeof withLocalNode>[1]>[0]) => Promise<Result<T>>,
): Promise<Result<T>> {
  let answer: Result<T> | null = null;
  const ran = await withLocalNode(parsed, async (services) => {
    answer = await ask(services);
    return ok(0);
  });
  return ran.ok ? answer! : failed(ran.error);
}

async function list(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const text = flagValue(parsed, 'limit') ?? String(LIMIT);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) {
    return fail('VALIDATION_FAILED', `--limit must be a number from 1 to ${LIMIT_MAX}`, {
      fields: ['limit'],
    });
  }
  const found = await conflictsOf(parsed, limit);
  if (!found.ok) return failed(found.error);
  await terminal.print(
    isSet(parsed, 'json')
      ? `${JSON.stringify({ count: found.value.length, conflicts: found.value })}\n`
      : conflictLines(found.value, peerNames(parsed), terminal.columns),
  );
  return ok(0);
}

/** Writes the lost text again, as an edit of its memory. */
async function take(parsed: ParsedArguments, id: string, terminal: Terminal): Promise<Result<number>> {
  const found = await conflictsOf(parsed, LIMIT_MAX);
  if (!found.ok) return failed(found.error);
  const conflict = named(found.value, id);
  if (!conflict.ok) return failed(conflict.error);
  const { of, subject, op_id: operation } = conflict.value;
  if (operation === null)
    return fail(
      'CONFLICT',
      `memory ${subject} lost its title, not its text: give it another one with "mnemesh update ${subject} --title …"`,
    );
  if (of !== 'memory')
    return fail(
      'CONFLICT',
      `only memories can be taken back, and this is a ${of}: write it again as it is shown`,
    );
  const { operationCommand } = await import('../operation-command.js');
  const undo = (await operationTable()).find(({ command }) => command === 'undo-edit')!;
  return operationCommand(await undo.load()).run(
    [subject, '--to', operation, ...(isSet(parsed, 'dry-run') ? ['--dry-run'] : []), ...passedOn(parsed)],
    terminal,
  );
}

/** The flags of every command, for the command that runs instead. */
const passedOn = (parsed: ParsedArguments): readonly string[] => [
  ...['db', 'store-url', 'config', 'agent-id'].flatMap((name) => {
    const value = flagValue(parsed, name);
    return value === undefined ? [] : [`--${name}=${value}`];
  }),
  ...(isSet(parsed, 'json') ? ['--json'] : []),
];

/** The conflict whose operation or subject begins with the text: NOT_FOUND, AMBIGUOUS_ID_PREFIX. */
function named(conflicts: readonly Conflict[], id: string): Result<Conflict> {
  const fitting = conflicts.filter(
    ({ op_id: operation, subject }) => operation?.startsWith(id) === true || subject.startsWith(id),
  );
  const exact = fitting.filter(({ op_id: operation, subject }) => operation === id || subject === id);
  const [first, ...others] = exact.length > 0 ? exact : fitting;
  if (first === undefined)
    return fail('NOT_FOUND', `no conflict begins with "${id}": "mnemesh mesh conflicts" lists them`);
  if (others.length === 0) return ok(first);
  const ids = [first, ...others].map(({ op_id: operation, subject }) => operation ?? subject);
  return fail('AMBIGUOUS_ID_PREFIX', `"${id}" fits ${ids.length} conflicts: ${ids.slice(0, 5).join(', ')}`);
}
