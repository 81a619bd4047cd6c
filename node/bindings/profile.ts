import type { Operation } from '../pipeline/operation.js';

export type Profile = 'core' | 'full';

/** The tools that a profile lists: `core` has seven, `full` everything that has an MCP binding. */
export function listedTools(operations: readonly Operation[], profile: Profile): readonly Operation[] {
  return operations.filter(
    (operation) => operation.mcp !== undefined && (profile === 'full' || operation.core),
  );
}

/** The tool of that name, when this profile may call it. */
export function callableTool(
  operations: readonly Operation[],
  profile: Profile,
  name: string,
): Operation | undefined {
  return operations.find(
    (operation) =>
      operation.name === name &&
      operation.mcp !== undefined &&
      (profile === 'full' || operation.core || operation.mcp.always === true),
  );
}
