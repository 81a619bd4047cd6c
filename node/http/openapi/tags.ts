import { FAMILIES, type Family } from '../../config/tool-families.js';
import type { Json } from './schemas.js';

/** The node itself: its health, its metrics, this description. */
export const NODE_TAG = 'node';
export const STREAMS_TAG = 'streams';
/** MCP for clients that start no process. */
export const MCP_TAG = 'mcp';
/** Routes by which nodes talk to each other, and about each other. */
export const MESH_TAG = 'mesh';

const FAMILY_TEXTS: Readonly<Record<Family, string>> = {
  core: 'Store, recall, list, read and search memories.',
  lifecycle: 'Change, delete, promote, export and import memories.',
  graph: 'Links between memories, entities, and the walks along them.',
  governance: 'Standards of namespaces, approvals, and those who are told of events.',
  power: 'Messages, coordination, quotas, and what a chat model does with memories.',
  meta: 'Agents, capabilities, sessions and the state of the node.',
  archive: 'Memories that were deleted or expired, until they are purged.',
  other: 'What belongs to no other family.',
};

export const TAGS: readonly Json[] = [
  ...FAMILIES.map((name) => ({ name, description: FAMILY_TEXTS[name] })),
  { name: NODE_TAG, description: 'The node itself: its health, its metrics, this description.' },
  { name: STREAMS_TAG, description: 'Server-sent events.' },
  { name: MCP_TAG, description: 'The Model Context Protocol over HTTP.' },
  { name: MESH_TAG, description: 'How nodes talk to each other, and about each other.' },
];
