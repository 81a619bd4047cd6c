import type { LogStream } from '../../actors/streams/log-stream.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { Caller } from '../identity/caller.js';
import type { StreamRoute } from './stream-route.js';

export interface LogStreamRoute extends Pick<StreamRoute, 'name' | 'path' | 'summary' | 'description'> {
  readonly stream: Pick<LogStream, 'admit'>;
  /** As whom a caller listens. */
  readonly viewerOf: (caller: Caller) => Result<Viewer> | Promise<Result<Viewer>>;
}

/** A stream of events of the log; `Last-Event-ID` names the event that the client got last. */
export function logStreamRoute({ stream, viewerOf, ...said }: LogStreamRoute): StreamRoute {
  return {
    kind: 'stream',
    ...said,
    open: async ({ caller, lastEventId }) => {
      const after = lastEventId === null ? null : Number(lastEventId);
      if (after !== null && !(/^\d{1,15}$/.test(lastEventId!) && Number.isSafeInteger(after))) {
        return fail('VALIDATION_FAILED', 'Last-Event-ID must be the id of an event of this stream', {
          fields: ['Last-Event-ID'],
        });
      }
      const viewer = await viewerOf(caller);
      if (!viewer.ok) return failed(viewer.error);
      const admitted = await stream.admit(viewer.value, after);
      if (!admitted.ok) return failed(admitted.error);
      return ok((events) => events.onClose(admitted.value.begin(events).leave));
    },
  };
}
