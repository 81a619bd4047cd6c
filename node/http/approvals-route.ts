import type { ApprovalStream } from '../../actors/approvals/approval-stream.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import { fail, failed, ok } from '../../protocol/result.js';
import { type Caller, isMadeId } from '../identity/caller.js';
import type { StreamRoute } from './stream-route.js';

const DESCRIPTION =
  'Events `approval_requested`, `approval_decided` and `lagged`, with the commit sequence as the id, and a comment every ' +
  '15 seconds. An admin also hears `hook_question`, without an id, when a hook asks the operator. A listener gets the events of the actions that it requested or decides by name; an admin gets all. After ' +
  '`lagged` read GET /api/v1/pending: events are missing.';

/** `GET /approvals/stream` (interface §4.9). */
export function approvalsRoute(approvals: Pick<ApprovalStream, 'admit'>): StreamRoute {
  return {
    kind: 'stream',
    name: 'approvals_stream',
    path: '/approvals/stream',
    summary: 'Follow the changes of pending actions.',
    description: DESCRIPTION,
    open: async ({ caller, lastEventId }) => {
      const after = lastEventId === null ? null : Number(lastEventId);
      if (after !== null && !(/^\d{1,15}$/.test(lastEventId!) && Number.isSafeInteger(after))) {
        return fail('VALIDATION_FAILED', 'Last-Event-ID must be the id of an event of this stream', {
          fields: ['Last-Event-ID'],
        });
      }
      const admitted = await approvals.admit(viewerOf(caller), after);
      if (!admitted.ok) return failed(admitted.error);
      return ok((stream) => stream.onClose(admitted.value.begin(stream).leave));
    },
  };
}

/** Who does not name an agent sees no event: a made id may be anybody's. */
function viewerOf({ viewer, claimed, agentId }: Caller): Viewer {
  const isNamed = claimed !== 'made' && !isMadeId(agentId);
  return viewer.all || isNamed ? viewer : { ...viewer, agentId: null };
}
