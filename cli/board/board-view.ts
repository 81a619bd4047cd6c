import { objectView } from '../views/object-view.js';
import { tableLines } from '../views/table.js';
import { clip, oneLine } from '../views/text.js';

type Row = Readonly<Record<string, unknown>>;

/** What the node answers about the work of agents. */
export interface Board {
  readonly at: number;
  readonly actions: readonly BoardAction[];
  readonly signals: readonly Row[];
  readonly checkpoints: readonly Row[];
  readonly more: readonly string[];
}

interface BoardAction extends Row {
  readonly id: string;
  readonly state: string;
  readonly lease: { readonly holder: string; readonly expires_at: number } | null;
  readonly blocked_by: readonly {
    readonly id: string;
    readonly state: string;
    readonly failed: boolean;
    readonly cycle?: boolean;
  }[];
}

/** Work that goes on comes first. */
const STATES = ['in_progress', 'claimed', 'pending', 'failed', 'abandoned', 'done'] as const;
const SHORT_ID_LENGTH = 8;

const ACTION_COLUMNS = { id: 'ID', priority: 'PRIO', namespace: 'NAMESPACE', title: 'TITLE' };
const WORK_COLUMNS = { claimed_by: 'CLAIMED BY', agent_id: 'OWNER', lease: 'LEASE', waits: 'WAITS FOR' };
const SIGNAL_COLUMNS = { id: 'ID', namespace: 'NAMESPACE', signal_type: 'TYPE', from: 'FROM', to: 'TO' };
const CHECKPOINT_COLUMNS = { id: 'ID', namespace: 'NAMESPACE', condition_type: 'WAITS FOR', title: 'TITLE' };

/** A board as tables for people; the namespace is a column where it shows several. */
export function boardView(board: Board, namespace: string | null, columns: number): string {
  const { at, actions, signals, checkpoints, more } = board;
  const lines = [clip(headOf(board, namespace), columns)];
  const table = (head: string, name: string, rows: readonly Row[], shown: Record<string, string>) => {
    if (rows.length === 0) return;
    const { namespace: column, ...others } = shown;
    const wanted = namespace === null ? shown : others;
    const several = more.includes(name) ? `${rows.length} and more` : String(rows.length);
    lines.push('', `${head}: ${several}`);
    lines.push(
      ...(tableLines(rows, columns, wanted) ?? objectView({ rows }, { columns }).trimEnd().split('\n')),
    );
  };
  for (const state of STATES) {
    const rows = actions.filter((action) => action.state === state).map((action) => rowOf(action, at));
    table(state.replace('_', ' '), state, rows, { ...ACTION_COLUMNS, ...WORK_COLUMNS });
  }
  const sent = signals.map((signal) => ({
    ...signal,
    from: signal['from_agent'],
    to: signal['to_agent'] ?? 'all',
  }));
  table('open signals', 'signals', sent, { ...SIGNAL_COLUMNS, subject: 'SUBJECT' });
  const waiting = checkpoints.map((each) => ({ ...each, left: leftOf(each['deadline_at'], at) }));
  table('open checkpoints', 'checkpoints', waiting, {
    ...CHECKPOINT_COLUMNS,
    ...{ created_by: 'BY', left: 'LEFT' },
  });
  return `${lines.join('\n')}\n`;
}

function headOf({ actions, signals, checkpoints }: Board, namespace: string | null): string {
  const open = actions.filter(({ state }) => !['done', 'failed', 'abandoned'].includes(state)).length;
  const many = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  const where = namespace === null ? 'all namespaces' : oneLine(namespace);
  const parts = [many(open, 'open action'), many(signals.length, 'open signal')];
  return `${where}: ${[...parts, many(checkpoints.length, 'open checkpoint')].join(', ')}`;
}

function rowOf({ lease, blocked_by, ...action }: BoardAction, at: number): Row {
  const held = lease === null ? null : leftOf(lease.expires_at, at);
  const by = lease === null || lease.holder === action['claimed_by'] ? '' : `${lease.holder}, `;
  const waits = blocked_by.map(
    ({ id, state, failed, cycle }) =>
      `${id.slice(0, SHORT_ID_LENGTH)} (${cycle === true ? 'circle' : failed ? `${state}, never` : state})`,
  );
  return { ...action, lease: held === null ? null : by + held, waits };
}

/** The time until an instant in epoch seconds, which a node that does not decide knows only about. */
function leftOf(instant: unknown, at: number): string | null {
  if (typeof instant !== 'number') return null;
  const seconds = Math.max(0, instant - at);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
