import type { InboxStream } from '../../actors/streams/inbox-stream.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Caller } from '../identity/caller.js';
import { logStreamRoute } from './log-stream-route.js';
import type { StreamRoute } from './stream-route.js';

const DESCRIPTION =
  'Events `message`, each with a row of the inbox, and `lagged`, with the commit sequence as the id, and a comment every ' +
  '15 seconds. A listener gets the messages to its own agent. A long payload is cut and carries `payload_truncated`. After ' +
  '`lagged` read GET /api/v1/inbox: events are missing.';

/** A caller as rules about reads let it see when it begins to listen. */
export type Limited = (caller: Caller) => Promise<Result<Caller>>;

/** `GET /inbox/stream`. */
export function inboxRoute(stream: Pick<InboxStream, 'admit'>, limited: Limited): StreamRoute {
  return logStreamRoute({
    name: 'inbox_stream',
    path: '/inbox/stream',
    summary: 'Follow the messages to the caller.',
    description: DESCRIPTION,
    stream,
    viewerOf: async (caller) => {
      if (caller.claimed === 'made')
        return fail('FORBIDDEN', 'messages need an agent: name it in X-Agent-Id');
      const seeing = await limited(caller);
      return seeing.ok ? ok(seeing.value.viewer) : failed(seeing.error);
    },
  });
}
