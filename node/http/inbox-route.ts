import type { InboxStream } from '../../actors/streams/inbox-stream.js';
import { fail, ok } from '../../protocol/base/result.js';
import { logStreamRoute } from './log-stream-route.js';
import type { StreamRoute } from './stream-route.js';

const DESCRIPTION =
  'Events `message`, each with a row of the inbox, and `lagged`, with the commit sequence as the id, and a comment every ' +
  '15 seconds. A listener gets the messages to its own agent. A long payload is cut and carries `payload_truncated`. After ' +
  '`lagged` read GET /api/v1/inbox: events are missing.';

/** `GET /inbox/stream`. */
export function inboxRoute(stream: Pick<InboxStream, 'admit'>): StreamRoute {
  return logStreamRoute({
    name: 'inbox_stream',
    path: '/inbox/stream',
    summary: 'Follow the messages to the caller.',
    description: DESCRIPTION,
    stream,
    viewerOf: ({ claimed, viewer }) =>
      claimed === 'made' ? fail('FORBIDDEN', 'messages need an agent: name it in X-Agent-Id') : ok(viewer),
  });
}
