import type { Operation } from '../pipeline/operation.js';
import {
  memoryArchive,
  memoryArchiveList,
  memoryArchivePurge,
  memoryArchiveRestore,
  memoryArchiveStats,
} from './archive/archive.js';
import {
  memoryActionAddEdge,
  memoryActionCreate,
  memoryActionEdges,
  memoryActionFrontier,
  memoryActionGet,
  memoryActionList,
  memoryActionNext,
} from './coordination/actions.js';
import { coordinationBoard } from './coordination/board.js';
import {
  memoryCheckpointCreate,
  memoryCheckpointQuery,
  memoryCheckpointResolve,
  memoryCheckpointVerify,
} from './coordination/checkpoints.js';
import {
  memoryLeaseAcquire,
  memoryLeaseGet,
  memoryLeaseRelease,
  memoryLeaseRenew,
} from './coordination/leases.js';
import {
  memoryRoutineCreate,
  memoryRoutineFreeze,
  memoryRoutineList,
  memoryRoutineRun,
  memoryRoutineStatus,
} from './coordination/routines.js';
import {
  memorySignalAck,
  memorySignalInbox,
  memorySignalRead,
  memorySignalSend,
  memorySignalThread,
} from './coordination/signals.js';
import { memoryActionTransition } from './coordination/transitions.js';
import { memoryLoadFamily, memorySmartLoad } from './core/family-loaders.js';
import { memoryBulk } from './core/memory-bulk.js';
import { memoryGet } from './core/memory-get.js';
import { memoryList } from './core/memory-list.js';
import { memoryRecall } from './core/memory-recall.js';
import { memorySearch } from './core/memory-search.js';
import { memoryStore } from './core/memory-store.js';
import { curatorBegin, curatorPreview, curatorRollback } from './curator/curator.js';
import { auditList } from './governance/audit-list.js';
import { decideApproval } from './governance/decide-approval.js';
import { hookAnswer, hookList, hookQuestions } from './governance/hooks-admin.js';
import {
  memoryNamespaceClearStandard,
  memoryNamespaceGetStandard,
  memoryNamespaceSetStandard,
} from './governance/memory-namespace-standard.js';
import { memoryNamespaces } from './governance/memory-namespaces.js';
import { memoryPendingApprove } from './governance/memory-pending-approve.js';
import { memoryPendingList } from './governance/memory-pending-list.js';
import { memoryPendingReject } from './governance/memory-pending-reject.js';
import { pendingRemembered, pendingRevoke } from './governance/pending-remembered.js';
import { secretModes } from './governance/secret-modes.js';
import {
  memoryListSubscriptions,
  memorySubscribe,
  memorySubscriptionDlqList,
  memorySubscriptionReplay,
  memoryUnsubscribe,
} from './governance/subscriptions.js';
import { tokenInspect, tokenNarrow } from './governance/token-texts.js';
import { tokenList, tokenMint, tokenRevoke } from './governance/tokens.js';
import { verifySignedEventsChain } from './governance/verify-signed-events-chain.js';
import { findPaths } from './graph/find-paths.js';
import { kgQuery } from './graph/kg-query.js';
import { kgTimeline } from './graph/kg-timeline.js';
import { memoryEntityGetByAlias } from './graph/memory-entity-get-by-alias.js';
import { memoryEntityRegister } from './graph/memory-entity-register.js';
import { memoryGetLinks } from './graph/memory-get-links.js';
import { memoryGetTaxonomy } from './graph/memory-get-taxonomy.js';
import { memoryKgInvalidate } from './graph/memory-kg-invalidate.js';
import { memoryLineage } from './graph/memory-lineage.js';
import { memoryLink } from './graph/memory-link.js';
import { memoryUnlink } from './graph/memory-unlink.js';
import { memoryVerify } from './graph/memory-verify.js';
import { memoryDelete } from './lifecycle/memory-delete.js';
import { memoryExport } from './lifecycle/memory-export.js';
import { memoryForget } from './lifecycle/memory-forget.js';
import { memoryGc } from './lifecycle/memory-gc.js';
import { memoryHistory } from './lifecycle/memory-history.js';
import { memoryImport } from './lifecycle/memory-import.js';
import { memoryPromote } from './lifecycle/memory-promote.js';
import { memoryReown } from './lifecycle/memory-reown.js';
import { memoryUndoEdit } from './lifecycle/memory-undo-edit.js';
import { memoryUpdate } from './lifecycle/memory-update.js';
import { storageRoom } from './lifecycle/storage-room.js';
import { agentBindKey, agentRevokeKey } from './meta/agent-key.js';
import { bootFacts } from './meta/boot-facts.js';
import { jobsCancel, jobsList, jobsPause, jobsResume, jobsShow } from './meta/jobs.js';
import { memoryAgentList } from './meta/memory-agent-list.js';
import { memoryAgentRegister } from './meta/memory-agent-register.js';
import { memoryCapabilities } from './meta/memory-capabilities.js';
import { memoryErasures } from './meta/memory-erasures.js';
import { memoryRecallObservations } from './meta/memory-recall-observations.js';
import { memoryRecalls } from './meta/memory-recalls.js';
import { memorySessionStart } from './meta/memory-session-start.js';
import { memoryStats } from './meta/memory-stats.js';
import { meshConflicts, meshConflictTake } from './meta/mesh-conflicts.js';
import { nodeDoctor } from './meta/node-doctor.js';
import { memoryNotify } from './other/memory-notify.js';
import { memoryPersona } from './personas/memory-persona.js';
import { memoryPersonaGenerate } from './personas/memory-persona-generate.js';
import { dependentsOfInvalidated } from './power/dependents-of-invalidated.js';
import { memoryAtomise } from './power/memory-atomise.js';
import { memoryAutoConsolidate } from './power/memory-auto-consolidate.js';
import { memoryAutoTag, memorySuggestTags } from './power/memory-auto-tag.js';
import { memoryCalibrateConfidence } from './power/memory-calibrate-confidence.js';
import { memoryCheckAgentAction } from './power/memory-check-agent-action.js';
import { memoryCheckDuplicate } from './power/memory-check-duplicate.js';
import { memoryConsolidate } from './power/memory-consolidate.js';
import { memoryContradictions } from './power/memory-contradictions.js';
import { memoryDetectContradiction } from './power/memory-detect-contradiction.js';
import { memoryExpandQuery } from './power/memory-expand-query.js';
import { memoryInbox } from './power/memory-inbox.js';
import { memoryInboxRead } from './power/memory-inbox-read.js';
import { memoryIngestMultistep } from './power/memory-ingest-multistep.js';
import { memoryQuotaStatus } from './power/memory-quota-status.js';
import { memoryResolve } from './power/memory-resolve.js';
import { memoryRuleList } from './power/memory-rule-list.js';
import { memoryShare } from './power/memory-share.js';
import { memoryExportReflection } from './reflections/memory-export-reflection.js';
import { memoryReflect } from './reflections/memory-reflect.js';
import { memoryReflectionOrigin } from './reflections/memory-reflection-origin.js';
import { verifyReflectionChain } from './reflections/verify-reflection-chain.js';
import { memorySkillCompositionalContext } from './skills/skill-compose.js';
import { memorySkillExport } from './skills/skill-export.js';
import { memorySkillGet, memorySkillResource } from './skills/skill-get.js';
import { memorySkillList } from './skills/skill-list.js';
import { memorySkillPromoteFromReflection } from './skills/skill-promote.js';
import { memorySkillRegister } from './skills/skill-register.js';
import { memoryCaptureTurn } from './transcripts/capture-turn.js';
import { memoryDeref, memoryOffload } from './transcripts/offload.js';
import { knownTurns, recoverTurn } from './transcripts/recover-turn.js';
import { memoryReplay } from './transcripts/replay.js';

/** Every operation of the service, in the order in which tools and help list them. */
export const OPERATIONS: readonly Operation[] = [
  memoryActionCreate,
  memoryActionGet,
  memoryActionTransition,
  memoryActionList,
  memoryActionAddEdge,
  memoryActionEdges,
  memoryActionFrontier,
  memoryActionNext,
  memoryLeaseAcquire,
  memoryLeaseRenew,
  memoryLeaseRelease,
  memoryLeaseGet,
  memorySignalSend,
  memorySignalRead,
  memorySignalInbox,
  memorySignalThread,
  memorySignalAck,
  memoryCheckpointCreate,
  memoryCheckpointResolve,
  memoryCheckpointQuery,
  memoryCheckpointVerify,
  memoryRoutineCreate,
  memoryRoutineFreeze,
  memoryRoutineRun,
  memoryRoutineStatus,
  memoryRoutineList,
  coordinationBoard,
  memoryStore,
  memoryRecall,
  memoryList,
  memoryGet,
  memorySearch,
  memoryLoadFamily,
  memorySmartLoad,
  memoryUpdate,
  storageRoom,
  memoryDelete,
  memoryPromote,
  memoryReown,
  memoryForget,
  memoryGc,
  memoryUndoEdit,
  memoryHistory,
  memoryLink,
  memoryGetLinks,
  memoryUnlink,
  memoryVerify,
  memoryKgInvalidate,
  memoryConsolidate,
  memoryReflect,
  memoryAtomise,
  memoryIngestMultistep,
  memoryReflectionOrigin,
  memoryPersona,
  memoryPersonaGenerate,
  memoryExportReflection,
  verifyReflectionChain,
  memoryAutoConsolidate,
  memoryAutoTag,
  memorySuggestTags,
  memoryCalibrateConfidence,
  memoryExpandQuery,
  memoryDetectContradiction,
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
  memorySessionStart,
  bootFacts,
  memoryRecallObservations,
  memoryRecalls,
  memoryCapabilities,
  memoryAgentRegister,
  memoryAgentList,
  agentBindKey,
  agentRevokeKey,
  memoryQuotaStatus,
  verifySignedEventsChain,
  auditList,
  tokenMint,
  tokenList,
  tokenRevoke,
  secretModes,
  tokenInspect,
  tokenNarrow,
  memoryRuleList,
  memoryCheckAgentAction,
  memoryNotify,
  memoryInbox,
  memoryInboxRead,
  memoryShare,
  hookList,
  hookQuestions,
  hookAnswer,
  recoverTurn,
  knownTurns,
  memoryBulk,
  memoryExport,
  memoryImport,
  memoryCaptureTurn,
  memoryReplay,
  memoryOffload,
  memoryDeref,
  memorySkillRegister,
  memorySkillList,
  memorySkillGet,
  memorySkillResource,
  memorySkillExport,
  memorySkillPromoteFromReflection,
  memorySkillCompositionalContext,
  memoryErasures,
  meshConflicts,
  meshConflictTake,
  nodeDoctor,
  jobsList,
  jobsShow,
  jobsPause,
  jobsResume,
  jobsCancel,
  curatorBegin,
  curatorPreview,
  curatorRollback,
];
