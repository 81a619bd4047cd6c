import { clip, oneLine, pad, printable } from '../views/text.js';
import type { PendingChange, WaitingAction } from './pending-source.js';

/** What a person at the terminal sees. */
export interface Shown {
  readonly actions: readonly WaitingAction[];
  /** The index of the chosen action. */
  readonly chosen: number;
  readonly decides: string | null;
  /** What happened last. */
  readonly notes: readonly string[];
}

const KEYS = 'a approve   d deny   up/down choose   q quit';
/** Lines around the list. */
const OTHER_LINES = 7;

/** The whole screen: the list with the chosen action in sight, what is asked for, and what happened last. */
export function screenOf({ actions, chosen, decides, notes }: Shown, columns: number, rows: number): string {
  const many = `${actions.length} ${actions.length === 1 ? 'action waits' : 'actions wait'}`;
  const who = decides === null ? 'no agent decides: give --agent-id' : `${decides} decides`;
  const room = Math.max(1, rows - OTHER_LINES - notes.length);
  const from = Math.max(0, Math.min(chosen - room + 1, actions.length - room));
  const list = actions.slice(from, from + room).map((action, index) => {
    const at = from + index;
    const mark = at === chosen ? '>' : ' ';
    return `${mark} ${pad(String(at + 1), 3)} ${rowOf(action)}`;
  });
  const action = actions[chosen];
  const asked = action === undefined ? [] : ['', `  ${action.id}`, `  ${wordsOf(action)}`];
  const lines = [`${many} - ${who}`, KEYS, '', ...list, ...asked, '', ...notes];
  return lines.map((line) => clip(printable(line), columns)).join('\n');
}

const rowOf = ({ action_type, namespace, requested_by, requested_at }: WaitingAction): string =>
  [
    pad(oneLine(action_type), 8),
    pad(clip(oneLine(namespace), 24), 24),
    pad(clip(oneLine(requested_by ?? 'nobody'), 24), 24),
    requested_at.slice(11, 19),
  ].join(' ');

/** The title and the beginning of the text of a store, or the memory that the action is about. */
function wordsOf({ action_type, payload }: WaitingAction): string {
  if (payload === null) return 'you may not see the memories that it is about';
  const { title, content } = payload;
  if (action_type === 'store' && content !== undefined)
    return oneLine(`${String(title)}: ${String(content)}`);
  return oneLine(JSON.stringify(payload));
}

/** A change as a line for people. */
export function sentenceOf(change: PendingChange): string {
  const text = (name: string) => oneLine(String(change[name] ?? 'nobody'));
  if (change['event'] === 'approval_requested') {
    return `${text('requested_by')} requests: ${text('action_type')} in ${text('namespace')} (${text('pending_id')})`;
  }
  if (change['event'] === 'hook_question') {
    const options = (change['options'] as readonly string[] | undefined)?.join(' or ') ?? '';
    return `a hook asks: ${text('prompt')}; "hooks answer ${text('id')}" takes ${oneLine(options)}`;
  }
  if (change['event'] !== 'approval_decided') return 'changes are missing: the list was read again';
  if (change['decision'] === 'expired') return `expired: ${text('pending_id')}`;
  const did = change['decision'] === 'approve' ? 'approves' : 'denies';
  return `${text('decided_by')} ${did} ${text('pending_id')} in ${text('namespace')}`;
}
