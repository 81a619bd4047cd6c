import type { AgentId } from '../base/meanings.js';
import { defineRead } from '../decide/reads.js';
import type { QuotaUse } from './quota.js';

/** What a holder has used of its quota; null before its first write. */
export const quotaUseOf = defineRead<
  { readonly holder: string; readonly namespace: string },
  QuotaUse | null
>('quota-use');
/** The bytes that a holder has written into the log today, over all namespaces. */
export const writtenBytes = defineRead<{ readonly holder: string }, number>('written-bytes');
/** The memory that a signed envelope was used for; null when it is unused. */
export const usedEnvelope = defineRead<{ readonly fingerprint: string }, string | null>('used-envelope');
/** The key that is bound to an agent, standard base64; null when it is not registered or has no key. */
export const boundKeyOf = defineRead<{ readonly agentId: AgentId }, string | null>('agent-key');
