import type { Family } from '../node/config/tool-families.js';
import type { CliOperation } from './operation-flags.js';

/** An operation's command, before the operation is loaded. */
export interface OperationEntry {
  readonly command: string;
  readonly family: Family;
  readonly summary: string;
  load(): Promise<CliOperation>;
}

/**
 * Every command that is an operation, in the order of the registry. The build replaces this module by a table that
 * loads each operation separately (`cli/dev/bundle.mjs`).
 */
export async function operationTable(): Promise<readonly OperationEntry[]> {
  const { OPERATIONS } = await import('../node/operations/registry.js');
  return OPERATIONS.filter((operation): operation is CliOperation => operation.cli !== undefined).map(
    (operation) => ({
      command: operation.cli.command,
      family: operation.family,
      summary: operation.summary,
      load: async () => operation,
    }),
  );
}
