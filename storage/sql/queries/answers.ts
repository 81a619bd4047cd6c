import { LOG_TAIL_BYTES_MAX, LOG_TAIL_OPERATIONS_MAX } from '../../../protocol/base/limits.js';
import { ok, type Result } from '../../../protocol/base/result.js';
import { indexedText } from '../../../protocol/ranking/index-text.js';
import type { Answers, Queries } from '../../../protocol/release.js';
import { actionWaits } from './action-waits.js';
import { agentKey, listAgents } from './agents.js';
import { archiveStats, findArchived, listArchive } from './archive.js';
import { auditRows, newestAuditRows } from './audit.js';
import { similarTitles } from './before-store.js';
import { calibrateConfidence } from './confidence.js';
import { listConflicts } from './conflicts.js';
import { findContradictions } from './contradictions.js';
import { curationPlan, reflectionClusters } from './curation.js';
import { derivedMemories } from './derived.js';
import { readBuckets, readDigests, readNamespaces } from './digests.js';
import {
  countPendingEmbeddings,
  embeddingProgress,
  pendingEmbeddings,
  textIndexProgress,
} from './embeddings.js';
import { entityByAlias } from './entities.js';
import { exportLinks, exportMemories } from './export.js';
import { findRecords } from './find-records.js';
import { actionFrontier } from './frontier.js';
import { getMemory } from './get.js';
import { dependentsOf, lineageOf, pathsBetween, timelineOf, walkFrom } from './graph.js';
import { memoryHistory } from './history.js';
import { dueJobs, jobTotals } from './jobs.js';
import { memoriesKnownAt } from './known-at.js';
import { consolidationGroups, countExpired, countForgettable } from './life.js';
import { linksOfMemory, namedLinks, newestLinks } from './links.js';
import { listMemories } from './list.js';
import { findLookAlikes, flaggedDuplicates, reviewWritten } from './look-alikes.js';
import { inboxEvents, listInbox, spentReceipts, unreadMessages } from './messages.js';
import { countNamespaces } from './namespaces.js';
import { recallObservations } from './observations.js';
import { listPeerProgress } from './peer-progress.js';
import {
  approvalEvents,
  askRegistered,
  countPendings,
  listPendings,
  spentPendings,
  undecidedPendings,
} from './pendings.js';
import { personaOf, personaSources } from './personas.js';
import {
  currentOwner,
  databaseSize,
  engines,
  logPosition,
  namespaceIds,
  namespacesBelow,
  schemaVersion,
} from './position.js';
import type { QueryParts } from './query-parts.js';
import { listQuotas } from './quotas.js';
import { readLogged, readRangeSubjects, readRanges } from './ranges.js';
import { readRanked, searchMemories } from './recall.js';
import { listRecalls, recalledMemories, recallFigures } from './recalls.js';
import { exportRecords, readRecords } from './records.js';
import { reflectionOrigin } from './reflections.js';
import { findOperation, knownOrigins, listNonces, readHeaders, readOperations } from './replication.js';
import { planRoom, usedRoom } from './room.js';
import { listPolicies, rulesForReads } from './rules.js';
import {
  integrityNotes,
  listSuspects,
  scrubLog,
  scrubNamespaces,
  scrubRows,
  scrubTombstones,
} from './scrub.js';
import { nearestMemory } from './similar.js';
import { memoriesSince } from './since.js';
import { reflectionsIn } from './skills.js';
import {
  attachedStandards,
  exceptedNamespaces,
  governanceAt,
  readStandards,
  removedStandards,
} from './standards.js';
import { storeStats } from './stats.js';
import { supersededPayloads } from './superseded.js';
import { tokenRoots, tokenStanding } from './tokens.js';
import {
  announcedSince,
  countDeadLetters,
  deadLetters,
  dueSubscriptions,
  listSubscriptions,
  nextDeliveries,
  subscriptionEvents,
  webhookTotals,
} from './webhooks.js';

/** How a query is answered, and whether it costs less than a message to a thread. */
interface Answering<Q, A> {
  readonly run: (parts: QueryParts, query: Q) => Result<A>;
  readonly isLookup: (query: Q) => boolean;
}

type Answer<Q, A> = (parts: QueryParts, query: Q) => A;

/** A query that may read any number of rows. */
const scan = <Q, A>(answer: Answer<Q, A>): Answering<Q, A> => ({
  run: (parts, query) => ok(answer(parts, query)),
  isLookup: () => false,
});

/** A query that follows links from memories that must exist. */
const walk = <Q, A>(run: Answering<Q, A>['run']): Answering<Q, A> => ({
  run: (parts, query) => parts.statements.snapshot(() => run(parts, query)),
  isLookup: () => false,
});

/** A query that one index look-up answers. */
const lookup = <Q, A>(answer: Answer<Q, A>): Answering<Q, A> => ({ ...scan(answer), isLookup: () => true });

/** Each query with its answer. */
export const ANSWERS: {
  readonly [K in keyof Queries]: Answering<Queries[K]['request'], Answers[K]>;
} = {
  'memory-history': { run: memoryHistory, isLookup: () => false },
  'get-memory': { run: getMemory, isLookup: () => true },
  'list-memories': scan(listMemories),
  'memories-known-at': { run: memoriesKnownAt, isLookup: () => false },
  'search-memories': scan(searchMemories),
  'recall-memories': scan((parts, { request, prepared = null }) =>
    readRanked(parts, request, parts.recall.recall(request, prepared)),
  ),
  'rank-memories': scan(({ recall }, { request, prepared = null }) => recall.recall(request, prepared)),
  'prepare-recall': scan(({ recall }, { key, request }) => {
    recall.prepare(key, request);
    return { prepared: true };
  }),
  'recall-observations': scan(recallObservations),
  'list-recalls': scan(listRecalls),
  'recalled-memories': scan(recalledMemories),
  'recall-figures': scan(recallFigures),
  'calibrate-confidence': scan(calibrateConfidence),
  'find-look-alikes': scan(findLookAlikes),
  'review-written': scan(reviewWritten),
  'flagged-duplicates': { ...scan(flaggedDuplicates), isLookup: ({ ids }) => ids.length === 1 },
  'similar-titles': scan(similarTitles),
  'nearest-memory': scan(nearestMemory),

  'list-archive': scan(listArchive),
  'archive-stats': scan(archiveStats),
  'find-archived': { run: findArchived, isLookup: () => true },
  'count-forgettable': scan(countForgettable),
  'count-expired': scan(countExpired),
  'consolidation-groups': scan(consolidationGroups),
  'find-contradictions': scan(findContradictions),
  'derived-memories': scan(derivedMemories),

  'agent-key': lookup(({ statements }, { agentId }) => ({ publicKey: agentKey(statements, agentId) })),
  'agent-keys': lookup(({ statements, agentKeys }, { agentIds }) => ({
    keys: agentKeys.of(statements, agentIds),
  })),
  'list-agents': scan(listAgents),
  'token-roots': scan(tokenRoots),
  'token-standing': lookup(tokenStanding),
  'list-quotas': scan(listQuotas),
  'links-of-memory': { run: linksOfMemory, isLookup: () => false },
  'named-links': scan(namedLinks),
  'newest-links': lookup(newestLinks),
  'walk-graph': walk(walkFrom),
  'graph-timeline': walk(timelineOf),
  'find-paths': walk(pathsBetween),
  'memory-lineage': walk(lineageOf),
  'list-dependents': walk(dependentsOf),

  'reflection-origin': walk(reflectionOrigin),
  'curation-plan': scan(curationPlan),
  'reflection-clusters': scan(reflectionClusters),
  'persona-of': lookup(personaOf),
  'persona-sources': scan(personaSources),

  'entity-by-alias': scan(entityByAlias),
  'read-standards': lookup(readStandards),
  'governance-at': lookup(governanceAt),
  'attached-standards': lookup(attachedStandards),
  'excepted-namespaces': scan(exceptedNamespaces),
  'removed-standards': scan(removedStandards),
  'count-namespaces': scan(countNamespaces),
  'rules-for-reads': lookup(rulesForReads),
  'list-policies': scan(listPolicies),

  'list-pendings': scan(listPendings),
  'is-registered': lookup(askRegistered),
  'undecided-pendings': lookup(undecidedPendings),
  'spent-pendings': scan(spentPendings),
  'count-pendings': lookup(countPendings),
  'approval-events': scan(approvalEvents),

  'action-frontier': scan(actionFrontier),
  'action-waits': scan(actionWaits),
  'list-inbox': scan(listInbox),
  'unread-messages': scan(unreadMessages),
  'inbox-events': scan(inboxEvents),
  'spent-receipts': scan(spentReceipts),
  'list-subscriptions': scan(listSubscriptions),
  'subscription-events': scan(subscriptionEvents),
  'dead-letters': scan(deadLetters),
  'count-dead-letters': scan(countDeadLetters),
  'index-texts': scan((_parts, { texts }) => ({ indexed: texts.map(indexedText) })),
  'announced-since': scan(announcedSince),
  'due-subscriptions': lookup(dueSubscriptions),
  'next-deliveries': lookup(nextDeliveries),
  'webhook-totals': scan(webhookTotals),
  'due-jobs': scan(dueJobs),
  'job-totals': scan(jobTotals),

  'export-memories': scan(exportMemories),
  'export-links': scan(exportLinks),
  'export-records': scan(exportRecords),
  'find-records': scan(findRecords),
  'reflections-in': scan(reflectionsIn),
  'read-records': { run: readRecords, isLookup: () => false },

  'store-stats': scan(storeStats),
  'pending-embeddings': scan(pendingEmbeddings),
  'count-pending-embeddings': scan(countPendingEmbeddings),
  'embedding-progress': scan(embeddingProgress),
  'text-index-progress': scan(textIndexProgress),
  'current-owner': lookup(currentOwner),
  'schema-version': lookup(schemaVersion),
  'database-size': lookup(databaseSize),
  'plan-room': scan(planRoom),
  'used-room': lookup(usedRoom),
  engines: lookup(engines),
  'log-position': lookup(logPosition),
  'namespace-ids': { ...scan(namespaceIds), isLookup: ({ below }) => below === null },
  'namespaces-below': scan(namespacesBelow),
  'audit-rows': scan(auditRows),
  'newest-audit-rows': scan(newestAuditRows),
  'audit-heads': scan(({ db }) => ({ heads: db.auditHeads?.read() ?? [] })),

  'list-peer-progress': scan(listPeerProgress),
  'known-origins': lookup(knownOrigins),
  'read-operations': {
    ...scan(({ statements }, query) => readOperations(statements, query)),
    // Every replicated write waits for this read of the end of one origin's log.
    isLookup: ({ origins, limit, bytesMax }) =>
      origins?.length === 1 && limit <= LOG_TAIL_OPERATIONS_MAX && bytesMax <= LOG_TAIL_BYTES_MAX,
  },
  'read-digests': scan(readDigests),
  'read-buckets': scan(readBuckets),
  'read-namespaces': scan(readNamespaces),
  'find-operation': scan(findOperation),
  'read-headers': scan(readHeaders),
  'list-conflicts': scan(listConflicts),
  'list-nonces': scan(listNonces),
  'memories-since': scan(memoriesSince),

  'read-ranges': scan(readRanges),
  'read-range-subjects': scan(readRangeSubjects),
  'read-logged': scan(readLogged),
  'scrub-rows': scan(scrubRows),
  'scrub-tombstones': scan(scrubTombstones),
  'scrub-log': scan(scrubLog),
  'scrub-namespaces': scan(scrubNamespaces),
  'list-suspects': scan(listSuspects),
  'superseded-payloads': scan(supersededPayloads),
  'integrity-notes': scan(({ statements }) => integrityNotes(statements)),
};
