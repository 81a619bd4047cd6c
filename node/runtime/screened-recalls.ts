import { subtreeRoot } from '../../protocol/base/ids.js';
import { RECALL_QUERY_KEPT_MAX } from '../../protocol/base/ledger-limits.js';
import type { RecallObservation, RecallTrace } from '../../protocol/memory/recall-ledger.js';
import type { Screen } from '../secrets/screen.js';
import { withText } from '../secrets/texts.js';

/**
 * Recalls as the ledger may keep them: their queries without the secrets that no memory of the place may hold, and cut
 * afterwards, so that no part of a secret stays. There is nothing to refuse, so `refuse` takes them out too.
 */
export const screenedRecalls = (
  screen: Screen,
  recalls: readonly RecallObservation[],
): Promise<readonly RecallObservation[]> =>
  Promise.all(
    recalls.map(async (recall) =>
      recall.trace === undefined ? recall : { ...recall, trace: await screened(screen, recall.trace) },
    ),
  );

async function screened(screen: Screen, trace: RecallTrace): Promise<RecallTrace> {
  const { namespace } = trace;
  // All below a place may have other modes, and so may everywhere.
  const mode = screen.modeOf(namespace === null || subtreeRoot(namespace) !== null ? null : namespace);
  let texts = { query: trace.query ?? '', namespace };
  if (mode === 'redact' || mode === 'refuse') {
    const found = await screen.look(texts);
    for (const { path, redacted } of found) texts = withText(texts, path, redacted ?? '');
    screen.count(found, 'redacted');
  }
  return { ...trace, query: texts.query.slice(0, RECALL_QUERY_KEPT_MAX), namespace: texts.namespace };
}
