import { FORWARDED_STORE_MS } from '../../protocol/base/mcp-limits.js';
import { createClient } from '../client/index.js';
import { resultOf } from '../client/result-of.js';
import type { Secret } from '../config/secret.js';
import type { LocalTools } from '../mcp/local-access.js';
import { memoryStore } from '../operations/core/memory-store.js';
import { type Answer, answerOf } from '../pipeline/answer.js';
import type { Request } from '../pipeline/pipeline.js';

/**
 * The tools of this machine, but `memory_store` stores on the node at `url` (`[mcp] federation_forward_url`): as
 * POST /api/v1/memories in the name of the caller, with the API key of this configuration. Nothing of it is stored here.
 */
export function forwardingStores(tools: LocalTools, url: string, apiKey: Secret | null): LocalTools {
  const key = apiKey === null ? {} : { apiKey: apiKey.reveal() };
  const client = createClient({ url, ...key, timeoutMs: FORWARDED_STORE_MS, retries: 0 });
  const store = async ({ caller: { agentId }, input, gone }: Request): Promise<Answer> => {
    // The recall was one of this node.
    const { recall_id: _, ...body } = input;
    const signal = gone?.();
    const answer = await resultOf(
      client.call(memoryStore.name, body, {
        ...(agentId === null ? {} : { agentId }),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
    if (answer.ok) return answer;
    return answerOf({ ...answer.error, message: `federation_forward: ${answer.error.message}` });
  };
  return {
    open: () => tools.open(),
    close: () => tools.close(),
    run: (operation, request) =>
      operation.name === memoryStore.name ? store(request) : tools.run(operation, request),
  };
}
