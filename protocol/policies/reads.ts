import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import { defineRead } from '../decide/reads.js';
import type { Scope } from '../log/scope.js';

/** How many actions of an agent wait for approval, up to a limit. */
export const openPendings = defineRead<
  { readonly requestedBy: AgentId | null; readonly limit: number },
  number
>('open-pendings');
/** Refusals by policies that the audit chain records since an instant. */
export const refusalsNoted = defineRead<
  { readonly agentId: AgentId; readonly since: Instant },
  { readonly ofAgent: number; readonly ofNode: number }
>('refusals-noted');
/** The scope that another peer had when its last operation came; null when nothing was noted of it. */
export const scopeOfAuthor = defineRead<{ readonly peerId: PeerId }, { readonly scope: Scope } | null>(
  'author-scope',
);
