import type { ApprovalStream } from '../../actors/streams/approval-stream.js';
import { ok } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import { type Caller, isMadeId } from '../identity/caller.js';
import { logStreamRoute } from './log-stream-route.js';
import type { StreamRoute } from './stream-route.js';

const DESCRIPTION =
  'Events `approval_requested`, `approval_decided` and `lagged`, with the commit sequence as the id, and a comment every ' +
  '15 seconds. An admin also hears `hook_question`, without an id, when a hook asks the operator. A listener gets the events of the actions that it requested or may decide; an admin gets all. After ' +
  '`lagged` read GET /api/v1/pending: events are missing.';

/** `GET /approvals/stream` (interface §4.9). */
export function approvalsRoute(approvals: Pick<ApprovalStream, 'admit'>): StreamRoute {
  return logStreamRoute({
    name: 'approvals_stream',
    path: '/approvals/stream',
    summary: 'Follow the changes of pending actions.',
    description: DESCRIPTION,
    stream: approvals,
    viewerOf: (caller) => ok(viewerOf(caller)),
  });
}

/** Who does not name an agent sees no event: a made id may be anybody's. */
function viewerOf({ viewer, claimed, agentId }: Caller): Viewer {
  const isNamed = claimed !== 'made' && !isMadeId(agentId);
  return viewer.all || isNamed ? viewer : { ...viewer, agentId: null };
}
