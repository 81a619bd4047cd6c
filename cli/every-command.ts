import type { Command, CommandTable } from './command.js';

/** All commands, operations first; `natives` is the table of the others. */
export async function everyCommand(natives: CommandTable): Promise<Command[]> {
  const { operationTable } = await import('./operation-table.js');
  const { operationCommand } = await import('./operation-command.js');
  const operations = await Promise.all((await operationTable()).map((entry) => entry.load()));
  const others = await Promise.all(Object.values(natives).map((load) => load()));
  return [...operations.map(operationCommand), ...others];
}
