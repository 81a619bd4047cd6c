import type { Viewer } from '../../protocol/base/viewer.js';
import type { TokenOperation } from './token-text.js';

/** What the token of a caller permits. Its namespaces are in the viewer. */
export interface Grant {
  readonly tokenId: string;
  readonly operations: readonly TokenOperation[];
}

/** Who calls, as far as the surface knows. */
export interface Caller {
  /** The identity that a write is stamped with. */
  readonly agentId: string;
  /** Explicit and configured ids name an agent; made ones (`host:…`, `anonymous:…`) name a process or a request. */
  readonly claimed: 'explicit' | 'configured' | 'made';
  /** What the caller may see. */
  readonly viewer: Viewer;
  readonly admin: boolean;
  /** Uses this machine's own files (MCP, CLI), so the machine's key may sign for it. */
  readonly local: boolean;
  /** Absent for a caller that came without a token. */
  readonly grant?: Grant | undefined;
}

/** True for an id in the form of those that processes and requests get that name no agent. */
export const isMadeId = (agentId: string): boolean =>
  /^(?:host|anonymous):/.test(agentId) || /:pid-\d+(?:-[0-9a-f]{8})?$/.test(agentId);

/** What an admin sees and rules over also on routes that are open to all callers. */
export const rulingViewer = ({ viewer, admin }: Pick<Caller, 'viewer' | 'admin'>): Viewer =>
  admin ? { ...viewer, all: true } : viewer;
