import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { coordinationBoard } from '../../node/operations/coordination/board.js';
import { systemClock, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { FullScreen, isQuit } from '../full-screen.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { Pause } from '../pause.js';
import { onSignals } from '../signals.js';
import type { Terminal } from '../terminal.js';
import { printable } from '../views/text.js';
import { type Board, boardView } from './board-view.js';

const INTERVAL_SECS_DEFAULT = 1;
const INTERVAL_SECS_MAX = 3600;

/** Shows the work of agents, and follows it on a terminal. */
export const boardCommand = defineCommand({
  name: 'board',
  summary:
    'Show actions with their leases, open signals and open checkpoints, and follow them on a terminal.',
  positionals: [
    { name: 'namespace', required: false, doc: 'Only this namespace; all of them when it is absent' },
  ],
  flags: [
    {
      name: 'interval',
      kind: 'value',
      value: 'seconds',
      doc: `Seconds between two looks, ${INTERVAL_SECS_DEFAULT} unless given`,
    },
    { name: 'once', kind: 'switch', doc: 'Print the board once, as without a terminal or with --json' },
  ],
  examples: ['board', 'board team/backlog --interval 5', 'board --once --json'],
  run: async (parsed, terminal) => {
    const seconds = Number(flagValue(parsed, 'interval') ?? INTERVAL_SECS_DEFAULT);
    if (!(seconds > 0 && seconds <= INTERVAL_SECS_MAX)) {
      const message = `--interval must be a number of seconds above 0 and at most ${INTERVAL_SECS_MAX}`;
      return fail('VALIDATION_FAILED', message, { fields: ['interval'] });
    }
    const isOnce = isSet(parsed, 'once') || isSet(parsed, 'json');
    const isScreen = !isOnce && process.stdin.isTTY === true && process.stdout.isTTY === true;
    return withLocalRunner(parsed, (runner, caller) => {
      const source = new BoardSource(runner, caller, parsed.positionals[0] ?? null);
      return isScreen ? follow(source, terminal, seconds * 1000) : printOnce(source, parsed, terminal);
    });
  },
});

/** The board as the node of this machine has it now. */
class BoardSource {
  constructor(
    private readonly runner: LocalRunner,
    private readonly caller: Caller,
    readonly namespace: string | null,
  ) {}

  async read(): Promise<Result<Board>> {
    const answer = await this.runner.run(coordinationBoard, {
      ...{ surface: 'cli', caller: this.caller, unknownFields: 'refuse' },
      input: this.namespace === null ? {} : { namespace: this.namespace },
    });
    return answer.ok ? ok(answer.value as unknown as Board) : failed(answer.error);
  }
}

async function printOnce(
  source: BoardSource,
  parsed: ParsedArguments,
  terminal: Terminal,
): Promise<Result<number>> {
  const board = await source.read();
  if (!board.ok) return failed(board.error);
  const text = isSet(parsed, 'json')
    ? `${JSON.stringify(board.value)}\n`
    : boardView(board.value, source.namespace, terminal.columns);
  await terminal.print(text);
  return ok(0);
}

/** Draws the board again and again until a signal, the key `q`, a failure, or until the terminal is gone. */
async function follow(source: BoardSource, terminal: Terminal, everyMs: number): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, everyMs);
  onSignals(systemClock, () => pause.end());
  const screen = new FullScreen(terminal, process.stdin, (key) => {
    if (isQuit(key)) pause.end();
  });
  await screen.begin();
  try {
    for (; !pause.ended && !terminal.closed; await pause.take()) {
      const board = await source.read();
      if (!board.ok) return failed(board.error);
      const lines = boardView(board.value, source.namespace, terminal.columns).trimEnd().split('\n');
      await screen.draw(fitting(lines, process.stdout.rows));
    }
    return ok(0);
  } finally {
    await screen.end();
  }
}

/** The lines that a screen has room for, with a last one that says what q does, and how many are left out. */
function fitting(lines: readonly string[], rows: number): string {
  const room = Math.max(1, rows - 1);
  const isCut = lines.length > room;
  const left = isCut ? `${lines.length - room} lines more   ` : '';
  return [...lines.slice(0, room), `${left}q quit`].map(printable).join('\n');
}
