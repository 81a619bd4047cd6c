import type { AgentQueries } from './agents/queries.js';
import { decideBindAgentKey, decideRegisterAgent } from './agents/register.js';
import { adoptionKind } from './decide/adoption-kind.js';
import type { Deciding } from './decide/deciding.js';
import * as localRows from './decide/local-rows.js';
import * as decideMutations from './decide/mutations.js';
import { type DeclaredMutation, isDeclaredMutation } from './decide/mutations.js';
import * as decideReads from './decide/reads.js';
import { isRead, type Read } from './decide/reads.js';
import { decideCreateLink } from './graph/create-link.js';
import { decideInvalidateLink } from './graph/invalidate-link.js';
import { decideDropLinks, decideImportLink } from './graph/links.js';
import type { GraphQueries } from './graph/queries.js';
import * as graphReads from './graph/reads.js';
import { decideNoteVeto } from './hooks/note-veto.js';
import { decideEnsureQuota } from './identity/ensure-quota.js';
import * as identityMutations from './identity/mutations.js';
import * as identityReads from './identity/reads.js';
import type { FindQueries } from './kinds/find.js';
import { Kinds } from './kinds/kinds.js';
import type { LocalKind } from './kinds/local-kind.js';
import { decideArchive, decidePurge, decideRestore } from './lifecycle/archive.js';
import { decideConsolidate } from './lifecycle/consolidate.js';
import type { LifecycleQueries } from './lifecycle/queries.js';
import { decideResolve } from './lifecycle/resolve.js';
import { decideUndoEdit } from './lifecycle/undo-edit.js';
import { linkKind } from './links/link-kind.js';
import { decidePlanEncoder, decideRequeue, decideSwitchEncoder } from './maintenance/encoders.js';
import * as maintenanceMutations from './maintenance/mutations.js';
import { decideClaim, decideRelease } from './maintenance/ownership.js';
import { decideEmbeddings } from './maintenance/put-embeddings.js';
import type { MaintenanceQueries } from './maintenance/queries.js';
import * as maintenanceReads from './maintenance/reads.js';
import { decideReindex } from './maintenance/reindex-texts.js';
import { aliasKind } from './memory/alias-kind.js';
import { memoryKind } from './memory/memory-kind.js';
import * as memoryMutations from './memory/mutations.js';
import { decideFlagNearDuplicates } from './memory/near-duplicates.js';
import { decidePromote } from './memory/promote.js';
import { decidePrune } from './memory/prune-observations.js';
import type { MemoryQueries } from './memory/queries.js';
import * as memoryReads from './memory/reads.js';
import { decideDelete, decideExpire, decideForget } from './memory/remove.js';
import { standardKind } from './memory/standard-kind.js';
import { decideStore } from './memory/store.js';
import { decideTouch } from './memory/touch.js';
import { decideUpdate } from './memory/update.js';
import type { MessageQueries } from './messages/queries.js';
import { receiptKind } from './messages/receipt-kind.js';
import { decideDropReceipts, decideMarkRead } from './messages/receipts.js';
import { decideSendMessage } from './messages/send-message.js';
import { decideShareMemory } from './messages/share-memory.js';
import type { NamesQueries } from './namespaces/queries.js';
import * as namespacesReads from './namespaces/reads.js';
import { decideRegisterEntity } from './namespaces/register-entity.js';
import { decideClearStandard, decideSetStandard, decideUnpinRemoved } from './namespaces/standards.js';
import { decideSettlePending, decideVotePending } from './policies/decide-pending.js';
import { decideDropDecided } from './policies/drop-decided.js';
import { decideEndSessions, decideForgetDecision } from './policies/forget-decision.js';
import { decideLookAtAction } from './policies/look-at-action.js';
import { pendingKind } from './policies/pending-kind.js';
import type { GovernanceQueries } from './policies/queries.js';
import * as policiesReads from './policies/reads.js';
import { rememberedKind } from './policies/remembered-kind.js';
import { decideRequestApproval } from './policies/request-approval.js';
import { voteKind } from './policies/vote-kind.js';
import { decideAdoptPeer } from './replication/adopt.js';
import { decideApplyOperations, decideRetryParked } from './replication/apply-operations.js';
import { decideBeginEpoch } from './replication/begin-epoch.js';
import * as replicationMutations from './replication/mutations.js';
import type { ReplicationQueries } from './replication/queries.js';
import * as replicationReads from './replication/reads.js';
import { decideReceive } from './replication/receive.js';
import { decideRepairSubjects } from './replication/repair.js';
import type { RepairQueries } from './replication/repair-queries.js';
import { decideResetClock } from './replication/reset-clock.js';
import { decidePeerProgress } from './replication/save-peer-progress.js';
import { decideDropPayloads, decideNoteIntegrity } from './replication/scrub.js';
import { decideNoteSuspects, decideSettleSuspects } from './replication/suspects.js';
import { decideUseNonce } from './replication/use-nonce.js';
import { decidePutRule, decideRemoveRule } from './rules/change-rules.js';
import { decideCheckAction } from './rules/check-action.js';
import * as rulesReads from './rules/reads.js';
import { ruleKind } from './rules/rule-kind.js';
import { decideImport } from './transfer/import-memory.js';
import { decideImportRecord } from './transfer/import-record.js';
import type { TransferQueries } from './transfer/queries.js';
import { decidePassEvents, decideRecordDeliveries, decideResendEvents } from './webhooks/deliveries.js';
import { announcedKind, deadLetterKind, outboxKind } from './webhooks/outbox.js';
import { decidePruneEvents } from './webhooks/prune.js';
import type { WebhookQueries } from './webhooks/queries.js';
import { decideSubscribe, decideUnsubscribe } from './webhooks/subscribe.js';
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
]);

/** Every kind of rows that only this node has. Declare a new one in its feature and list it here. */
export const LOCAL_KINDS: readonly LocalKind[] = [
  announcedKind,
  deadLetterKind,
  outboxKind,
  subscriptionKind,
  subscriptionListKind,
];

/**
 * Each command with its rule. A command is plain data, so it crosses threads and sockets unchanged. It is declared next
 * to its rule, and the rule's return type defines the command's answer.
 */
export const RULES = {
  'store-memory': decideStore,
  'update-memory': decideUpdate,
  'delete-memory': decideDelete,
  'promote-memory': decidePromote,
  'touch-memories': decideTouch,
  'prune-observations': decidePrune,
  'expire-memories': decideExpire,
  'put-embeddings': decideEmbeddings,
  'flag-near-duplicates': decideFlagNearDuplicates,
  'plan-encoder': decidePlanEncoder,
  'switch-encoder': decideSwitchEncoder,
  'requeue-embeddings': decideRequeue,
  'register-agent': decideRegisterAgent,
  'bind-agent-key': decideBindAgentKey,
  'ensure-quota': decideEnsureQuota,
  'claim-ownership': decideClaim,
  'release-ownership': decideRelease,
  'reindex-texts': decideReindex,
  'archive-memories': decideArchive,
  'restore-memory': decideRestore,
  'purge-archive': decidePurge,
  'forget-memories': decideForget,
  'consolidate-memories': decideConsolidate,
  'resolve-memories': decideResolve,
  'undo-edit': decideUndoEdit,
  'import-memory': decideImport,
  'import-link': decideImportLink,
  'import-record': decideImportRecord,
  'create-link': decideCreateLink,
  'invalidate-link': decideInvalidateLink,
  'drop-links': decideDropLinks,
  'set-standard': decideSetStandard,
  'clear-standard': decideClearStandard,
  'unpin-removed': decideUnpinRemoved,
  'put-rule': decidePutRule,
  'remove-rule': decideRemoveRule,
  'check-action': decideCheckAction,
  'register-entity': decideRegisterEntity,
  'request-approval': decideRequestApproval,
  'vote-pending': decideVotePending,
  'settle-pending': decideSettlePending,
  'drop-decided': decideDropDecided,
  'forget-decision': decideForgetDecision,
  'end-sessions': decideEndSessions,
  'look-at-action': decideLookAtAction,
  'send-message': decideSendMessage,
  'share-memory': decideShareMemory,
  'mark-read': decideMarkRead,
  'drop-receipts': decideDropReceipts,
  subscribe: decideSubscribe,
  unsubscribe: decideUnsubscribe,
  'record-deliveries': decideRecordDeliveries,
  'resend-events': decideResendEvents,
  'prune-events': decidePruneEvents,
  'pass-events': decidePassEvents,
  'note-veto': decideNoteVeto,
  'adopt-peer': decideAdoptPeer,
  'receive-memory': decideReceive,
  'save-peer-progress': decidePeerProgress,
  'apply-operations': decideApplyOperations,
  'use-nonce': decideUseNonce,
  'retry-parked': decideRetryParked,
  'begin-epoch': decideBeginEpoch,
  'reset-clock': decideResetClock,
  'repair-subjects': decideRepairSubjects,
  'note-integrity': decideNoteIntegrity,
  'note-suspects': decideNoteSuspects,
  'settle-suspects': decideSettleSuspects,
  'drop-payloads': decideDropPayloads,
} as const;

type Rules = typeof RULES;

/** Every command that a store accepts. */
export type Command = Parameters<Rules[keyof Rules]>[0];

/** The answer of each command when it succeeds. */
export type Outcomes = {
  readonly [K in keyof Rules]: Rules[K] extends (...given: never[]) => Deciding<infer Outcome>
    ? Outcome
    : never;
};

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
    GraphQueries,
    NamesQueries,
    GovernanceQueries,
    MessageQueries,
    WebhookQueries,
    TransferQueries,
    MaintenanceQueries,
    ReplicationQueries,
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
  rulesReads,
  graphReads,
  localRows,
  replicationReads,
].flatMap((feature) => Object.values<unknown>(feature).filter(isRead));

/** Every local mutation that decisions may make. An engine applies each. */
export const MUTATIONS: readonly DeclaredMutation<never>[] = [
  decideMutations,
  identityMutations,
  memoryMutations,
  maintenanceMutations,
  localRows,
  replicationMutations,
].flatMap((feature) => Object.values<unknown>(feature).filter(isDeclaredMutation));
