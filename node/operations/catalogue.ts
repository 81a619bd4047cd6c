import { describeTool } from '../bindings/tool-list.js';
import type { Catalogue } from '../pipeline/call.js';
import { OPERATIONS } from './registry.js';

/** The tools of this node, for the operations that tell of them. */
export const CATALOGUE: Catalogue = {
  tools: OPERATIONS.filter((operation) => operation.mcp !== undefined).map(({ name, family, summary }) => ({
    name,
    family,
    summary,
  })),
  describe: (name, verbose) => describeTool(OPERATIONS.find((known) => known.name === name)!, verbose),
};
