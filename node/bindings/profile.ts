import type { Profile } from '../config/tool-profile.js';
import type { Operation } from '../pipeline/operation.js';

/** The tools that a profile lists: those of its families. */
export function listedTools(operations: readonly Operation[], profile: Profile): readonly Operation[] {
  return operations.filter(({ mcp, family }) => mcp !== undefined && profile.includes(family));
}

/** The tool of that name, when this profile may call it. */
export function callableTool(
  operations: readonly Operation[],
  profile: Profile,
  name: string,
): Operation | undefined {
  const tool = toolNamed(operations, name);
  return tool !== undefined && (profile.includes(tool.family) || tool.mcp?.always === true)
    ? tool
    : undefined;
}

/** The tool of that name, in whichever profile. */
export const toolNamed = (operations: readonly Operation[], name: string): Operation | undefined =>
  operations.find((operation) => operation.name === name && operation.mcp !== undefined);
