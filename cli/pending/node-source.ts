import type { ApprovalsClient } from '../../node/http/approvals-client.js';
import { failed, ok } from '../../protocol/base/result.js';
import { type PendingSource, SHOWN_MAX, type WaitingAction } from './pending-source.js';

/** The pending actions that an agent sees on a node, over its stream of approvals. */
export function nodeSource(client: ApprovalsClient, decides: string | null): PendingSource {
  return {
    decides,
    async waiting() {
      const listed = await client.ask('GET', `/pending?status=pending&limit=${SHOWN_MAX}`);
      return listed.ok ? ok(listed.value['pending'] as readonly WaitingAction[]) : failed(listed.error);
    },
    decide: (id, how) => client.ask('POST', `/pending/${encodeURIComponent(id)}/${how}`, {}),
    follow: (onChange, onOpen) =>
      client.follow(({ id, data }) => onChange(id === null ? data : { id, ...data }), onOpen),
    stop: () => client.stop(),
  };
}
