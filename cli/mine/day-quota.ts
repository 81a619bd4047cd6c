import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryQuotaStatus } from '../../node/operations/power/memory-quota-status.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';

/** What ends a quota, by the limit that was reached. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  memories_per_day: 'on the next day (UTC), or after SVC_MAX_MEMORIES_PER_DAY was raised',
  storage_bytes: 'when there is room again, or after SVC_MAX_STORAGE_BYTES was raised',
  written_bytes_per_day: 'on the next day (UTC), or after SVC_MAX_STORAGE_BYTES was raised',
};

/** How the rest of a source comes in after a quota ended its import. */
const advice = (limit: unknown): string =>
  `the same call imports the rest ${WAYS_OUT[String(limit)] ?? 'when there is room again'}`;

/** A quota that is used up ends an import. `limit` is the member of that name of the refusal. */
export const quotaEnd = (message: string, limit: unknown): Result<never> =>
  fail('QUOTA_EXCEEDED', `${message}; ${advice(limit)}`);

/** Says for each namespace, where that is so, that the quota of the day would end the import of so many new memories. */
export async function dayQuotaNotices(
  { runner, caller }: { readonly runner: LocalRunner; readonly caller: Caller },
  fresh: ReadonlyMap<string, number>,
): Promise<Result<string[]>> {
  const notices: string[] = [];
  for (const [namespace, count] of fresh) {
    const input = { agent_id: caller.agentId, namespace };
    const request = { surface: 'cli', caller, input, unknownFields: 'refuse' } as const;
    const answer = await runner.run(memoryQuotaStatus, request);
    if (!answer.ok) return failed(answer.error);
    const { max_memories_per_day: max, current_memories_today: used } = answer.value['quota'] as {
      readonly max_memories_per_day: number;
      readonly current_memories_today: number;
    };
    const room = Math.max(0, max - used);
    if (count > room)
      notices.push(
        `the quota of the day would stop this: it takes ${room} of ${count} new memories in namespace ${namespace} (${used} of ${max} are used); ${advice('memories_per_day')}`,
      );
  }
  return ok(notices);
}
