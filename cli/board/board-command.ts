import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { coordinationBoard } from '../../node/operations/coordination/board.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { followOnScreen, hasScreen, INTERVAL_FLAG, intervalOf } from '../follow-screen.js';
import { isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import type { Terminal } from '../terminal.js';
import { type Board, boardView } from './board-view.js';

/** Shows the work of agents, and follows it on a terminal. */
export const boardCommand = defineCommand({
  name: 'board',
  summary:
    'Show actions with their leases, open signals and open checkpoints, and follow them on a terminal.',
  positionals: [
    { name: 'namespace', required: false, doc: 'Only this namespace; all of them when it is absent' },
  ],
  flags: [
    INTERVAL_FLAG,
    { name: 'once', kind: 'switch', doc: 'Print the board once, as without a terminal or with --json' },
  ],
  examples: ['board', 'board team/backlog --interval 5', 'board --once --json'],
  run: async (parsed, terminal) => {
    const everyMs = intervalOf(parsed);
    if (!everyMs.ok) return failed(everyMs.error);
    const isOnce = isSet(parsed, 'once') || isSet(parsed, 'json');
    const isScreen = !isOnce && hasScreen();
    return withLocalRunner(parsed, (runner, caller) => {
      const source = new BoardSource(runner, caller, parsed.positionals[0] ?? null);
      if (!isScreen) return printOnce(source, parsed, terminal);
      const view = async () => {
        const board = await source.read();
        return board.ok
          ? ok(boardView(board.value, source.namespace, terminal.columns))
          : failed(board.error);
      };
      return followOnScreen(view, terminal, everyMs.value);
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
