import { describeTool } from '../bindings/tool-list.js';
import type { Catalogue } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { agentBindKey, agentRevokeKey } from './agent-key.js';
import {
  memoryArchive,
  memoryArchiveList,
  memoryArchivePurge,
  memoryArchiveRestore,
  memoryArchiveStats,
} from './archive.js';
import { decideApproval } from './decide-approval.js';
import { dependentsOfInvalidated } from './dependents-of-invalidated.js';
import { memoryLoadFamily, memorySmartLoad } from './family-loaders.js';
import { findPaths } from './find-paths.js';
import { hookAnswer, hookList, hookQuestions } from './hooks-admin.js';
import { kgQuery } from './kg-query.js';
import { kgTimeline } from './kg-timeline.js';
import { memoryAgentList } from './memory-agent-list.js';
import { memoryAgentRegister } from './memory-agent-register.js';
import { memoryAutoConsolidate } from './memory-auto-consolidate.js';
import { memoryBulk } from './memory-bulk.js';
import { memoryCapabilities } from './memory-capabilities.js';
import { memoryCheckAgentAction } from './memory-check-agent-action.js';
import { memoryCheckDuplicate } from './memory-check-duplicate.js';
import { memoryConsolidate } from './memory-consolidate.js';
import { memoryContradictions } from './memory-contradictions.js';
import { memoryDelete } from './memory-delete.js';
import { memoryEntityGetByAlias } from './memory-entity-get-by-alias.js';
import { memoryEntityRegister } from './memory-entity-register.js';
import { memoryExport } from './memory-export.js';
import { memoryForget } from './memory-forget.js';
import { memoryGc } from './memory-gc.js';
import { memoryGet } from './memory-get.js';
import { memoryGetLinks } from './memory-get-links.js';
import { memoryGetTaxonomy } from './memory-get-taxonomy.js';
import { memoryImport } from './memory-import.js';
import { memoryInbox } from './memory-inbox.js';
import { memoryInboxRead } from './memory-inbox-read.js';
import { memoryKgInvalidate } from './memory-kg-invalidate.js';
import { memoryLineage } from './memory-lineage.js';
import { memoryLink } from './memory-link.js';
import { memoryList } from './memory-list.js';
import {
  memoryNamespaceClearStandard,
  memoryNamespaceGetStandard,
  memoryNamespaceSetStandard,
} from './memory-namespace-standard.js';
import { memoryNamespaces } from './memory-namespaces.js';
import { memoryNotify } from './memory-notify.js';
import { memoryPendingApprove } from './memory-pending-approve.js';
import { memoryPendingList } from './memory-pending-list.js';
import { memoryPendingReject } from './memory-pending-reject.js';
import { memoryPromote } from './memory-promote.js';
import { memoryQuotaStatus } from './memory-quota-status.js';
import { memoryRecall } from './memory-recall.js';
import { memoryRecallObservations } from './memory-recall-observations.js';
import { memoryResolve } from './memory-resolve.js';
import { memoryRuleList } from './memory-rule-list.js';
import { memorySearch } from './memory-search.js';
import { memoryShare } from './memory-share.js';
import { memoryStats } from './memory-stats.js';
import { memoryStore } from './memory-store.js';
import {
  memoryListSubscriptions,
  memorySubscribe,
  memorySubscriptionDlqList,
  memorySubscriptionReplay,
  memoryUnsubscribe,
} from './memory-subscription.js';
import { memoryUndoEdit } from './memory-undo-edit.js';
import { memoryUnlink } from './memory-unlink.js';
import { memoryUpdate } from './memory-update.js';
import { memoryVerify } from './memory-verify.js';
import { pendingRemembered, pendingRevoke } from './pending-remembered.js';
import { verifySignedEventsChain } from './verify-signed-events-chain.js';

/** Every operation of the service, in the order in which tools and help list them. */
export const OPERATIONS: readonly Operation[] = [
  memoryStore,
  memoryRecall,
  memoryList,
  memoryGet,
  memorySearch,
  memoryLoadFamily,
  memorySmartLoad,
  memoryUpdate,
  memoryDelete,
  memoryPromote,
  memoryForget,
  memoryGc,
  memoryUndoEdit,
  memoryLink,
  memoryGetLinks,
  memoryUnlink,
  memoryVerify,
  memoryKgInvalidate,
  memoryConsolidate,
  memoryAutoConsolidate,
  memoryResolve,
  memoryCheckDuplicate,
  memoryContradictions,
  memoryEntityRegister,
  memoryEntityGetByAlias,
  memoryGetTaxonomy,
  memoryNamespaces,
  memoryNamespaceSetStandard,
  memoryNamespaceGetStandard,
  memoryNamespaceClearStandard,
  memoryPendingList,
  memoryPendingApprove,
  memoryPendingReject,
  decideApproval,
  pendingRemembered,
  pendingRevoke,
  memorySubscribe,
  memoryUnsubscribe,
  memoryListSubscriptions,
  memorySubscriptionReplay,
  memorySubscriptionDlqList,
  kgQuery,
  kgTimeline,
  findPaths,
  memoryLineage,
  dependentsOfInvalidated,
  memoryArchive,
  memoryArchiveList,
  memoryArchiveRestore,
  memoryArchivePurge,
  memoryArchiveStats,
  memoryStats,
  memoryRecallObservations,
  memoryCapabilities,
  memoryAgentRegister,
  memoryAgentList,
  agentBindKey,
  agentRevokeKey,
  memoryQuotaStatus,
  verifySignedEventsChain,
  memoryRuleList,
  memoryCheckAgentAction,
  memoryNotify,
  memoryInbox,
  memoryInboxRead,
  memoryShare,
  hookList,
  hookQuestions,
  hookAnswer,
  memoryBulk,
  memoryExport,
  memoryImport,
];

export const CATALOGUE: Catalogue = {
  tools: OPERATIONS.filter((operation) => operation.mcp !== undefined).map(
    ({ name, family, summary, core }) => ({ name, family, summary, core }),
  ),
  describe: (name, verbose) => describeTool(OPERATIONS.find((known) => known.name === name)!, verbose),
};
