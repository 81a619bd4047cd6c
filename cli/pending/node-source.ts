import type { HttpClient } from '../../node/client/http-client.js';
import { resultOf } from '../../node/client/result-of.js';
import { failed, ok } from '../../protocol/base/result.js';
import { type PendingChange, type PendingSource, SHOWN_MAX, type WaitingAction } from './pending-source.js';

/** The pending actions that an agent sees on a node, over its stream of approvals. */
export function nodeSource(client: HttpClient, decides: string | null): PendingSource {
  const stopping = new AbortController();
  const { signal } = stopping;
  return {
    decides,
    async waiting() {
      const listed = await resultOf(
        client.call('memory_pending_list', { status: 'pending', limit: SHOWN_MAX }, { signal }),
      );
      return listed.ok ? ok(listed.value['pending'] as readonly WaitingAction[]) : failed(listed.error);
    },
    decide: (id, how) =>
      resultOf(client.call(how === 'approve' ? 'memory_pending_approve' : 'memory_pending_reject', { id })),
    follow: (onChange, onOpen) => resultOf(follow(client, signal, onChange, onOpen)),
    stop: () => stopping.abort(),
  };
}

async function follow(
  client: HttpClient,
  signal: AbortSignal,
  onChange: (change: PendingChange) => void,
  onFirstOpen: () => void,
): Promise<null> {
  let isFirst = true;
  const onOpen = () => {
    if (isFirst) onFirstOpen();
    isFirst = false;
  };
  for await (const { id, data } of client.approvalsStream({ signal, onOpen }))
    onChange(id === null ? data : { id, ...data });
  return null;
}
