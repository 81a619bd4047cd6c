import { hlcMs, isAhead } from '../../protocol/base/hlc.js';
import { CLOCK_AHEAD_MS_MAX, GC_INTERVAL_MS } from '../../protocol/base/limits.js';
import type { Settings } from '../config/settings.js';
import { embeddingAdvice } from '../semantics/embedding-advice.js';
import type { ContentFacts, DatabaseFacts } from './database-facts.js';
import { type Section, SectionBuilder } from './report.js';

const CLOCK_AHEAD_MS = 5 * 60_000;

const NOTHING = 'there is nothing to examine yet';

/** Compares full text and vectors with the rows that they index. */
export function checkIndex(content: ContentFacts | null, settings: Settings): Section {
  const section = new SectionBuilder('Index');
  if (content === null) return section.unused(NOTHING).done();
  const { fullText, embeddings } = content;
  section
    .fact('memories', content.memories)
    .fact('embedded', embeddings.embedded)
    .fact('pending', embeddings.pending)
    .fact('skipped', embeddings.skipped)
    .fact('failed', embeddings.failed)
    .fact('truncated', embeddings.cut)
    .fact('models', embeddings.models.join(', ') || '-')
    .fact('near duplicates', content.nearDuplicates);
  if (embeddings.coming !== null) {
    const { model, done, of } = embeddings.coming;
    section.fact('coming encoder', `${model}, ${done} of ${of}`);
  }
  if (fullText.missing > 0 || fullText.surplus > 0) {
    section.crit(
      'FULL_TEXT_OUT_OF_STEP',
      `${fullText.missing} memories are not in the full text, and ${fullText.surplus} of its entries have no memory: recall misses them`,
      'stop the node and run "mnemesh repair"',
    );
  }
  if (fullText.waiting > 0) {
    section.info(
      'FULL_TEXT_REINDEXING',
      `${fullText.waiting} memories are indexed by the rules of another release; a running node indexes them again`,
    );
  }
  if (embeddings.lost > 0) {
    section.crit(
      'VECTORS_LOST',
      `${embeddings.lost} memories are marked as embedded but have no vector`,
      'run "mnemesh reembed"',
    );
  }
  if (embeddings.failed > 0) {
    section.warn(
      'EMBEDDINGS_FAILED',
      `${embeddings.failed} memories could not be embedded and are found only by their words`,
      'check their text, then run "mnemesh reembed"',
    );
  }
  if (embeddings.models.length > 1) {
    section.warn(
      'EMBEDDING_MODELS_MIXED',
      `there are vectors of ${embeddings.models.length} models, but only those of one are searched`,
      'run "mnemesh reembed"',
    );
  }
  if (content.nearDuplicates > 0) {
    section.info(
      'NEAR_DUPLICATES',
      `${content.nearDuplicates} memories say nearly the same as an older one: "list" marks them, and "get" names the other`,
    );
  }
  // What failed and what waits have findings of their own.
  for (const text of embeddingAdvice({ ...embeddings, memories: content.memories, failed: 0, pending: 0 })) {
    section.info('EMBEDDING_ADVICE', text);
  }
  if (embeddings.pending > 0 && settings.embedBackend !== 'none') {
    section.info(
      'EMBEDDINGS_PENDING',
      `${embeddings.pending} memories wait for their vector; a running node embeds them`,
    );
  }
  return section.done();
}

/** Checks how recall answers on this node, and whether its clock can be trusted. */
export function checkRecall(
  content: ContentFacts | null,
  settings: Settings,
  nowMs: number,
  skewsMs: readonly number[],
): Section {
  const section = new SectionBuilder('Recall').fact(
    'mode',
    settings.embedBackend === 'none' ? 'keyword' : 'hybrid',
  );
  if (content === null) return section.done();
  section.fact('newest memory', content.newestUpdatedAt);
  checkClock(section, content, nowMs, skewsMs);
  const { owner } = content;
  const isLive = owner !== null && owner.expiresAtMs > nowMs;
  section.fact('owner', owner === null || owner.expiresAtMs === 0 ? null : owner.holder);
  if (owner !== null && owner.expiresAtMs !== 0 && !isLive) {
    section.warn(
      'OWNER_STALE',
      `${owner.holder} owned the database and ended without releasing it: it was killed or crashed`,
      'look at its log; the next node takes over automatically',
    );
  } else if (owner !== null && settings.storeUrl === null && owner.expiresAtMs > nowMs + 60_000) {
    // On a server the owner has no lease: it holds the duties while its session lasts.
    section.warn('OWNER_FUTURE', 'the lease of the owner ends later than a lease can last', 'set the clock');
  }
  if (content.expired > 0 && !isLive) {
    section.info(
      'EXPIRED_KEPT',
      `${content.expired} expired memories wait for a running node, which removes them every ${GC_INTERVAL_MS / 60_000} minutes`,
    );
  }
  return section.done();
}

/**
 * Tells a clock that is behind from a log that is ahead of a right clock: the peers know which, when one answers.
 * `skewsMs`: their clocks minus this one.
 */
function checkClock(
  section: SectionBuilder,
  { newestUpdatedAt, newestHlc, operationsAhead }: ContentFacts,
  nowMs: number,
  skewsMs: readonly number[],
): void {
  const minutes = (ms: number) => Math.round((ms - nowMs) / 60_000);
  const isBehind = skewsMs.length > 0 && skewsMs.every((ms) => ms > CLOCK_AHEAD_MS_MAX);
  if (isAhead(newestHlc, nowMs) && !isBehind) {
    const check = skewsMs.length > 0 ? '' : "check that this machine's clock is right, then ";
    section.warn(
      'LOG_AHEAD',
      `the log is stamped ${minutes(hlcMs(newestHlc))} minutes ahead of this machine's clock, which was ahead once: other nodes refuse ${operationsAhead} operations of this node, and its next writes`,
      `${check}stop the node and run "mnemesh repair --clock"`,
    );
    return;
  }
  const newestMs = Math.max(newestUpdatedAt === null ? 0 : Date.parse(newestUpdatedAt), hlcMs(newestHlc));
  if (newestMs <= nowMs + CLOCK_AHEAD_MS) return;
  section.warn(
    'CLOCK_BEHIND',
    `the newest change is ${minutes(newestMs)} minutes ahead of this machine's clock`,
    'set the clock, or find the peer or import that wrote it',
  );
}

/** Checks the operation log, on which the mesh and every audit depend. */
export function checkAudit(facts: DatabaseFacts | null, peerId: string | null): Section {
  const section = new SectionBuilder('Audit');
  if (facts === null || facts.content === null) return section.unused(NOTHING).done();
  const { log } = facts.content;
  section.fact('peer id', log.peerId).fact('operations', log.commitSequence).fact('checked', log.checked);
  if (log.problems.length > 0) {
    section.crit(
      'LOG_BROKEN',
      `the operation log was changed or lost rows: ${log.problems.join('; ')}`,
      'keep a copy of the file, compare it with a backup or a peer',
    );
  }
  if (facts.audit !== null) {
    section.fact('audit rows', facts.audit.rows_checked).fact('audit head', facts.audit.head);
    if (facts.audit.key_wanted) {
      section.warn(
        'AUDIT_KEY_WANTED',
        `no key of this home vouches for the end of the audit chain: ${facts.audit.problem}`,
        'verify it from that home, or here with mnemesh verify-signed-events-chain --keys <its public key>',
      );
    } else if (facts.audit.problem !== null) {
      section.crit(
        'AUDIT_CHAIN_BROKEN',
        `the audit chain is not valid: ${facts.audit.problem}`,
        'keep a copy of the file; mnemesh verify-signed-events-chain --json shows details',
      );
    }
  }
  if (log.rowsWithoutOperation > 0) {
    section.crit(
      'ROWS_WITHOUT_OPERATION',
      `${log.rowsWithoutOperation} memories were written without the log; they will never reach a peer`,
      'find the program that wrote into the file, then store them again',
    );
  }
  if (peerId !== null && peerId !== log.peerId) {
    section.warn(
      'PEER_ID_CHANGED',
      `the log was written by ${log.peerId}, but this machine's key is ${peerId}: the next start begins a new epoch`,
      'restore the old key if the database was not meant to move',
    );
  }
  return section.done();
}
