import { VERSION } from '../node/version.js';
import { type Failure, ok, type Result } from '../protocol/base/result.js';
import { type Command, PROGRAM } from './command.js';
import { findCommand, type Route } from './find-command.js';
import { asksForJson } from './global-flags.js';
import { NATIVE_COMMANDS } from './native-commands.js';
import { exitCodeOf, failureOf, failureText } from './report-failure.js';
import type { Terminal } from './terminal.js';

/** Finds the command that the words name, loads only what it needs, runs it, and answers its exit code. */
export async function runProgram(words: readonly string[], terminal: Terminal): Promise<number> {
  let usage = `Commands and options: ${PROGRAM} --help`;
  let exits: Command['failures'] = {};
  let failure: Failure;
  try {
    if (words[0] === '--version' || words[0] === '-V') {
      await terminal.print(`${VERSION}\n`);
      return 0;
    }
    const route = await findCommand(words, NATIVE_COMMANDS);
    if (route.kind === 'command') {
      usage = usageLines(route.command);
      exits = route.command.failures;
    }
    if (route.kind === 'failure' && route.group !== undefined) {
      usage = `Commands and options: ${PROGRAM} ${route.group} --help`;
    }
    const result = await follow(route, terminal);
    if (result.ok) return result.value;
    failure = result.error;
  } catch (error) {
    failure = failureOf(error);
    if (failure.code === 'INTERNAL') await terminal.complain(`${(error as Error).stack}\n`);
  }
  await terminal.complain(failureText(failure, asksForJson(words), usage));
  return exits?.[failure.code] ?? exitCodeOf(failure);
}

async function follow(route: Route, terminal: Terminal): Promise<Result<number>> {
  switch (route.kind) {
    case 'help':
      await terminal.print(route.text(terminal.columns));
      return ok(0);
    case 'failure':
      return route.result;
    case 'command':
      return route.command.run(route.words, terminal);
  }
}

function usageLines(command: Command): string {
  return `Usage: ${PROGRAM} ${command.usage}\nAll options: ${[PROGRAM, command.name, '--help'].filter((word) => word !== '').join(' ')}`;
}
