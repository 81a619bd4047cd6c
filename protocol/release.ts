import type { AgentQueries } from './agents/queries.js';
import { bindAgentKeyCommand, registerAgentCommand } from './agents/register.js';
import { confidenceObservationKind } from './confidence/observation-kind.js';
import { observeConfidenceCommand, pruneConfidenceCommand } from './confidence/observe.js';
import type { ConfidenceQueries } from './confidence/queries.js';
import { actionKind } from './coordination/action-kind.js';
import { addActionEdgeCommand } from './coordination/add-edge.js';
import { checkpointKind } from './coordination/checkpoint-kind.js';
import {
  createCheckpointCommand,
  expireCheckpointsCommand,
  resolveCheckpointCommand,
} from './coordination/checkpoints.js';
import { createActionCommand } from './coordination/create-action.js';
import { edgeKind } from './coordination/edge-kind.js';
import { leaseKind, leaseTermKind } from './coordination/lease-kind.js';
import {
  acquireLeaseCommand,
  beginLeaseTermsCommand,
  endLeaseCommand,
  releaseLeaseCommand,
  renewLeaseCommand,
} from './coordination/leases.js';
import type { CoordinationQueries } from './coordination/queries.js';
import * as coordinationReads from './coordination/reads.js';
import { routineKind, routineRunKind } from './coordination/routine-kind.js';
import {
  createRoutineCommand,
  freezeRoutineCommand,
  runRoutineCommand,
  sweepRunsCommand,
} from './coordination/routines.js';
import { signalKind } from './coordination/signal-kind.js';
import { signalReceiptKind } from './coordination/signal-receipt-kind.js';
import {
  markSignalCommand,
  receiveSignalCommand,
  sendSignalCommand,
  sweepSignalsCommand,
} from './coordination/signals.js';
import { sweepActionsCommand } from './coordination/sweep-actions.js';
import { transitionActionCommand } from './coordination/transition-action.js';
import {
  curateConsolidationCommand,
  curateForgetCommand,
  curateMetadataCommand,
  curatePriorityCommand,
} from './curation/curate.js';
import type { CurationQueries } from './curation/queries.js';
import { queueCycleCommand } from './curation/queue-cycle.js';
import { storeCurationReportCommand } from './curation/report.js';
import { rollBackCurationCommand } from './curation/rollback.js';
import { adoptionKind } from './decide/adoption-kind.js';
import { Commands } from './decide/command.js';
import type { Deciding } from './decide/deciding.js';
import * as localRows from './decide/local-rows.js';
import * as decideMutations from './decide/mutations.js';
import { type DeclaredMutation, isDeclaredMutation } from './decide/mutations.js';
import * as decideReads from './decide/reads.js';
import { isRead, type Read } from './decide/reads.js';
import { mintedTokenKind } from './delegation/minted-token.js';
import type { DelegationQueries } from './delegation/queries.js';
import { tokenRevocationKind } from './delegation/token-revocation-kind.js';
import { tokenRootKind } from './delegation/token-root-kind.js';
import { dropTokenRootCommand, noteTokenCommand, revokeTokenCommand } from './delegation/tokens.js';
import { erasureDoneKind } from './erasure/erasure-done-kind.js';
import { clearErasedCommand, noteErasuresCommand, wipeFreedCommand } from './erasure/finish-erasures.js';
import { keptCopyKind, noteCopyCommand } from './erasure/kept-copy-kind.js';
import * as erasureMutations from './erasure/mutations.js';
import type { ErasureQueries } from './erasure/queries.js';
import { createLinkCommand } from './graph/create-link.js';
import { invalidateLinkCommand } from './graph/invalidate-link.js';
import { dropLinksCommand, importLinkCommand } from './graph/links.js';
import type { GraphQueries } from './graph/queries.js';
import * as graphReads from './graph/reads.js';
import { noteVetoCommand } from './hooks/note-veto.js';
import { ensureQuotaCommand } from './identity/ensure-quota.js';
import * as identityMutations from './identity/mutations.js';
import * as identityReads from './identity/reads.js';
import { changeJobsCommand } from './jobs/change-jobs.js';
import { jobKind } from './jobs/job-kind.js';
import type { JobQueries } from './jobs/queries.js';
import {
  beginJobCommand,
  endJobCommand,
  noteStepCommand,
  pruneJobsCommand,
  releaseJobsCommand,
} from './jobs/run-jobs.js';
import type { FindQueries } from './kinds/find.js';
import { Kinds } from './kinds/kinds.js';
import type { LocalKind } from './kinds/local-kind.js';
import { archiveMemoriesCommand, purgeArchiveCommand, restoreMemoryCommand } from './lifecycle/archive.js';
import { markAtomisedCommand, storeAtomCommand } from './lifecycle/atoms.js';
import { consolidateMemoriesCommand } from './lifecycle/consolidate.js';
import type { LifecycleQueries } from './lifecycle/queries.js';
import { resolveMemoriesCommand } from './lifecycle/resolve.js';
import { undoEditCommand } from './lifecycle/undo-edit.js';
import { linkKind } from './links/link-kind.js';
import {
  planEncoderCommand,
  requeueEmbeddingsCommand,
  switchEncoderCommand,
} from './maintenance/encoders.js';
import * as maintenanceMutations from './maintenance/mutations.js';
import { claimOwnershipCommand, releaseOwnershipCommand } from './maintenance/ownership.js';
import { putEmbeddingsCommand } from './maintenance/put-embeddings.js';
import type { MaintenanceQueries } from './maintenance/queries.js';
import * as maintenanceReads from './maintenance/reads.js';
import { reindexTextsCommand } from './maintenance/reindex-texts.js';
import { aliasKind } from './memory/alias-kind.js';
import { erasureKind } from './memory/erasure-kind.js';
import { memoryKind } from './memory/memory-kind.js';
import * as memoryMutations from './memory/mutations.js';
import { flagNearDuplicatesCommand } from './memory/near-duplicates.js';
import { promoteMemoryCommand } from './memory/promote.js';
import { pruneObservationsCommand } from './memory/prune-observations.js';
import type { MemoryQueries } from './memory/queries.js';
import * as memoryReads from './memory/reads.js';
import { recallKind } from './memory/recall-kind.js';
import { deleteMemoryCommand, expireMemoriesCommand, forgetMemoriesCommand } from './memory/remove.js';
import { reownMemoryCommand } from './memory/reown.js';
import { standardKind } from './memory/standard-kind.js';
import { storeMemoryCommand } from './memory/store.js';
import { touchMemoriesCommand } from './memory/touch.js';
import { updateMemoryCommand } from './memory/update.js';
import type { MessageQueries } from './messages/queries.js';
import { receiptKind } from './messages/receipt-kind.js';
import { dropReceiptsCommand, markReadCommand } from './messages/receipts.js';
import { sendMessageCommand } from './messages/send-message.js';
import { shareMemoryCommand } from './messages/share-memory.js';
import { beginModelCallCommand, endModelCallCommand, modelUseKind } from './models/model-use.js';
import type { NamesQueries } from './namespaces/queries.js';
import * as namespacesReads from './namespaces/reads.js';
import { registerEntityCommand } from './namespaces/register-entity.js';
import { clearStandardCommand, setStandardCommand, unpinRemovedCommand } from './namespaces/standards.js';
import type { PersonaQueries } from './personas/queries.js';
import * as personasReads from './personas/reads.js';
import { storePersonaCommand } from './personas/store-persona.js';
import { settlePendingCommand, votePendingCommand } from './policies/decide-pending.js';
import { dropDecidedCommand } from './policies/drop-decided.js';
import { endSessionsCommand, forgetDecisionCommand } from './policies/forget-decision.js';
import { lookAtActionCommand } from './policies/look-at-action.js';
import { noteLimitedReadCommand } from './policies/note-limited-read.js';
import { noteSchemaDenialCommand } from './policies/note-schema-denial.js';
import { noteSecretCommand } from './policies/note-secret.js';
import { pendingKind } from './policies/pending-kind.js';
import type { GovernanceQueries } from './policies/queries.js';
import * as policiesReads from './policies/reads.js';
import { rememberedKind } from './policies/remembered-kind.js';
import { requestApprovalCommand } from './policies/request-approval.js';
import { voteKind } from './policies/vote-kind.js';
import type { ReflectionQueries } from './reflections/queries.js';
import * as reflectionsReads from './reflections/reads.js';
import { storeReflectionCommand } from './reflections/store-reflection.js';
import { adoptPeerCommand } from './replication/adopt.js';
import { applyOperationsCommand, retryParkedCommand } from './replication/apply-operations.js';
import { beginEpochCommand } from './replication/begin-epoch.js';
import { dropPayloadsCommand, noteIntegrityCommand } from './replication/integrity-commands.js';
import { makeRoomCommand } from './replication/make-room.js';
import * as replicationMutations from './replication/mutations.js';
import type { ReplicationQueries } from './replication/queries.js';
import * as replicationReads from './replication/reads.js';
import { receiveMemoryCommand } from './replication/receive-memory.js';
import { repairSubjectsCommand } from './replication/repair.js';
import type { RepairQueries } from './replication/repair-queries.js';
import { resetClockCommand } from './replication/reset-clock.js';
import { savePeerProgressCommand } from './replication/save-peer-progress.js';
import { noteSuspectsCommand, settleSuspectsCommand } from './replication/suspects.js';
import { useNonceCommand } from './replication/use-nonce.js';
import { putRuleCommand, removeRuleCommand } from './rules/change-rules.js';
import { checkActionCommand } from './rules/check-action.js';
import * as rulesReads from './rules/reads.js';
import { ruleKind } from './rules/rule-kind.js';
import { skillContentKind, skillResourceKind } from './skills/content-kinds.js';
import { dropSkillUploadCommand } from './skills/drop-upload.js';
import { noteSkillExportCommand } from './skills/note-export.js';
import type { SkillQueries } from './skills/queries.js';
import { registerSkillCommand, storeSkillFilesCommand } from './skills/register-skill.js';
import { skillKind } from './skills/skill-kind.js';
import { skillUploadKind } from './skills/upload-kind.js';
import { blobKind } from './transcripts/blob-kind.js';
import { captureTurnCommand } from './transcripts/capture-turn.js';
import { transcriptLineKind } from './transcripts/line-kind.js';
import { derefContentCommand, offloadContentCommand } from './transcripts/offload.js';
import { offloadKind } from './transcripts/offload-kind.js';
import { sweepOffloadsCommand, sweepTranscriptsCommand } from './transcripts/sweep.js';
import { transcriptKind } from './transcripts/transcript-kind.js';
import { importMemoryCommand } from './transfer/import-memory.js';
import { importRecordCommand } from './transfer/import-record.js';
import type { TransferQueries } from './transfer/queries.js';
import { passEventsCommand, recordDeliveriesCommand, resendEventsCommand } from './webhooks/deliveries.js';
import { announcedKind, deadLetterKind, outboxKind } from './webhooks/outbox.js';
import { pruneEventsCommand } from './webhooks/prune.js';
import type { WebhookQueries } from './webhooks/queries.js';
import { subscribeCommand, unsubscribeCommand } from './webhooks/subscribe.js';
import { subscriptionKind, subscriptionListKind } from './webhooks/subscription.js';

/** Every kind that replicates. Declare a new one in its own file and list it here. */
export const KINDS = new Kinds([
  memoryKind,
  linkKind,
  standardKind,
  adoptionKind,
  aliasKind,
  pendingKind,
  voteKind,
  rememberedKind,
  ruleKind,
  receiptKind,
  actionKind,
  edgeKind,
  leaseKind,
  signalKind,
  signalReceiptKind,
  blobKind,
  transcriptKind,
  erasureDoneKind,
  offloadKind,
  checkpointKind,
  routineKind,
  routineRunKind,
  skillKind,
  skillContentKind,
  skillResourceKind,
  tokenRootKind,
  tokenRevocationKind,
]);

/** Every kind of rows that only this node has. Declare a new one in its feature and list it here. */
export const LOCAL_KINDS: readonly LocalKind[] = [
  announcedKind,
  deadLetterKind,
  outboxKind,
  subscriptionKind,
  subscriptionListKind,
  leaseTermKind,
  transcriptLineKind,
  modelUseKind,
  confidenceObservationKind,
  skillUploadKind,
  jobKind,
  erasureKind,
  mintedTokenKind,
  keptCopyKind,
  recallKind,
];

const DECLARED = [
  storeMemoryCommand,
  updateMemoryCommand,
  deleteMemoryCommand,
  promoteMemoryCommand,
  reownMemoryCommand,
  touchMemoriesCommand,
  pruneObservationsCommand,
  observeConfidenceCommand,
  pruneConfidenceCommand,
  expireMemoriesCommand,
  putEmbeddingsCommand,
  flagNearDuplicatesCommand,
  planEncoderCommand,
  switchEncoderCommand,
  requeueEmbeddingsCommand,
  registerAgentCommand,
  bindAgentKeyCommand,
  ensureQuotaCommand,
  claimOwnershipCommand,
  releaseOwnershipCommand,
  reindexTextsCommand,
  archiveMemoriesCommand,
  restoreMemoryCommand,
  purgeArchiveCommand,
  forgetMemoriesCommand,
  consolidateMemoriesCommand,
  storeReflectionCommand,
  storeAtomCommand,
  markAtomisedCommand,
  storePersonaCommand,
  curateConsolidationCommand,
  curateForgetCommand,
  curateMetadataCommand,
  curatePriorityCommand,
  rollBackCurationCommand,
  storeCurationReportCommand,
  queueCycleCommand,
  resolveMemoriesCommand,
  undoEditCommand,
  importMemoryCommand,
  importLinkCommand,
  importRecordCommand,
  createLinkCommand,
  invalidateLinkCommand,
  dropLinksCommand,
  setStandardCommand,
  clearStandardCommand,
  unpinRemovedCommand,
  putRuleCommand,
  removeRuleCommand,
  checkActionCommand,
  registerEntityCommand,
  requestApprovalCommand,
  votePendingCommand,
  settlePendingCommand,
  dropDecidedCommand,
  forgetDecisionCommand,
  endSessionsCommand,
  lookAtActionCommand,
  captureTurnCommand,
  offloadContentCommand,
  derefContentCommand,
  sweepTranscriptsCommand,
  sweepOffloadsCommand,
  storeSkillFilesCommand,
  registerSkillCommand,
  dropSkillUploadCommand,
  noteSkillExportCommand,
  sendMessageCommand,
  shareMemoryCommand,
  markReadCommand,
  dropReceiptsCommand,
  sendSignalCommand,
  receiveSignalCommand,
  markSignalCommand,
  sweepSignalsCommand,
  createCheckpointCommand,
  resolveCheckpointCommand,
  expireCheckpointsCommand,
  createRoutineCommand,
  freezeRoutineCommand,
  runRoutineCommand,
  sweepRunsCommand,
  subscribeCommand,
  unsubscribeCommand,
  recordDeliveriesCommand,
  resendEventsCommand,
  pruneEventsCommand,
  passEventsCommand,
  noteVetoCommand,
  noteSchemaDenialCommand,
  noteSecretCommand,
  noteLimitedReadCommand,
  beginModelCallCommand,
  endModelCallCommand,
  beginJobCommand,
  noteStepCommand,
  endJobCommand,
  releaseJobsCommand,
  pruneJobsCommand,
  changeJobsCommand,
  createActionCommand,
  addActionEdgeCommand,
  transitionActionCommand,
  acquireLeaseCommand,
  renewLeaseCommand,
  releaseLeaseCommand,
  endLeaseCommand,
  beginLeaseTermsCommand,
  sweepActionsCommand,
  adoptPeerCommand,
  receiveMemoryCommand,
  savePeerProgressCommand,
  applyOperationsCommand,
  useNonceCommand,
  retryParkedCommand,
  beginEpochCommand,
  resetClockCommand,
  repairSubjectsCommand,
  makeRoomCommand,
  noteIntegrityCommand,
  noteSuspectsCommand,
  settleSuspectsCommand,
  dropPayloadsCommand,
  clearErasedCommand,
  wipeFreedCommand,
  noteErasuresCommand,
  noteTokenCommand,
  revokeTokenCommand,
  dropTokenRootCommand,
  noteCopyCommand,
] as const;

type Declared = (typeof DECLARED)[number];

/** Every command that a store accepts. A command is plain data, so it crosses threads and sockets unchanged. */
export type Command = Parameters<Declared['decide']>[0];

/** The answer of each command when it succeeds. */
export type Outcomes = {
  readonly [D in Declared as D['kind']]: D['decide'] extends (...given: never[]) => Deciding<infer Outcome>
    ? Outcome
    : never;
};

/** The commands that a policy or a permission rule can gate. */
export type GatedKind = {
  [D in Declared as D['kind']]: D['gate'] extends string ? never : D['kind'];
}[Command['kind']];

export const COMMANDS = new Commands(DECLARED);

export type OutcomeOf<C extends Command> = Outcomes[C['kind']];

/**
 * Every query that a store answers without a change, as plain data, grouped by features. Every query that returns
 * memories applies the visibility gate itself; `now` hides expired rows.
 */
export interface Queries
  extends FindQueries,
    MemoryQueries,
    LifecycleQueries,
    AgentQueries,
    DelegationQueries,
    GraphQueries,
    ReflectionQueries,
    CurationQueries,
    PersonaQueries,
    ConfidenceQueries,
    NamesQueries,
    GovernanceQueries,
    MessageQueries,
    CoordinationQueries,
    SkillQueries,
    WebhookQueries,
    JobQueries,
    TransferQueries,
    MaintenanceQueries,
    ReplicationQueries,
    ErasureQueries,
    RepairQueries {}

export type Query = Queries[keyof Queries]['request'];

/** The answer of each query when it succeeds. */
export type Answers = { readonly [K in keyof Queries]: Queries[K]['answer'] };

export type AnswerOf<Q extends Query> = Answers[Q['kind']];

/** Every read that decisions may ask for. An engine answers each. */
export const READS: readonly Read<never, unknown>[] = [
  decideReads,
  identityReads,
  memoryReads,
  maintenanceReads,
  namespacesReads,
  policiesReads,
  coordinationReads,
  rulesReads,
  graphReads,
  reflectionsReads,
  personasReads,
  localRows,
  replicationReads,
].flatMap((feature) => Object.values<unknown>(feature).filter(isRead));

/** Every local mutation that decisions may make. An engine applies each. */
export const MUTATIONS: readonly DeclaredMutation<never>[] = [
  decideMutations,
  erasureMutations,
  identityMutations,
  memoryMutations,
  maintenanceMutations,
  localRows,
  replicationMutations,
].flatMap((feature) => Object.values<unknown>(feature).filter(isDeclaredMutation));
