import { ROUTES } from 'virtual:routes';
import type { CallOptions, ErrorCode, Operations } from 'mnemesh/client';
import { MnemeshError } from '../../node/client/client-error.js';
import { HttpClient } from '../../node/client/http-client.js';
import type { ApprovalEvent, InboxEvent, StreamOptions } from '../../node/client/public.js';
import type { MeshStatus } from './lib/mesh-status.js';
import type { PolicyLevel } from './lib/policies.js';
import { agent, apiKey, keyWasRefused } from './session.js';

export type { ErrorCode, Operations };
export { MnemeshError };

/** The client of the node that serves this page, for the key and the agent of now. */
function client(): HttpClient {
  return new HttpClient({
    routes: ROUTES,
    url: new URL(location.origin),
    agentId: agent.value === '' ? null : agent.value,
    apiKey: apiKey.value === '' ? null : apiKey.value,
    signer: null,
    approvalSecret: null,
    signing: null,
    retries: 2,
    timeoutMs: 60_000,
    fetch: (input, init) => fetch(input, { ...init, credentials: 'omit' }),
    random: { unit: () => Math.random(), uuid },
    scheduler: {
      after: (delayMs, run) => {
        const timer = setTimeout(run, delayMs);
        return { cancel: () => clearTimeout(timer) };
      },
      immediate: (run) => queueMicrotask(run),
    },
  });
}

/** Also for a page over plain HTTP, where `crypto.randomUUID` is missing. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

type Name = keyof Operations;

/** Calls an operation of the node; where the key is missing or wrong the page asks for it. */
export async function call<N extends Name>(
  name: N,
  input: Operations[N]['input'],
  options: CallOptions = {},
): Promise<Operations[N]['answer']> {
  try {
    const answer = await client().call(name, input as Record<string, unknown>, options);
    return answer as unknown as Operations[N]['answer'];
  } catch (error) {
    if (error instanceof MnemeshError && error.code === 'UNAUTHORIZED') keyWasRefused();
    throw error;
  }
}

/** Follows the changes of pending actions until the signal. */
export const approvalEvents = (options: StreamOptions): AsyncGenerator<ApprovalEvent, void, undefined> =>
  client().approvalsStream(options);

/** Follows the messages to the agent until the signal. */
export const inboxEvents = (options: StreamOptions): AsyncGenerator<InboxEvent, void, undefined> =>
  client().inboxStream(options);

export const health = (): ReturnType<HttpClient['health']> => client().health();

/** The policies that hold in a namespace, the most general first. */
export async function policyLevels(namespace: string, signal: AbortSignal): Promise<readonly PolicyLevel[]> {
  const answer = await call('memory_namespace_get_standard', { namespace, inherit: true }, { signal });
  return (answer as unknown as { readonly standards?: readonly PolicyLevel[] }).standards ?? [];
}

/** The node and its peers; with `compare` the peers are asked whether their memories are equal. */
export const meshStatus = async ({
  compare,
  signal,
}: {
  readonly compare: boolean;
  readonly signal?: AbortSignal;
}): Promise<MeshStatus> =>
  JSON.parse(await read(`/api/v1/mesh/status${compare ? '?compare=true' : ''}`, signal)) as MeshStatus;

/** What a route of the node itself answers, that is no operation. Throws MnemeshError. */
export async function read(path: string, signal?: AbortSignal): Promise<string> {
  const headers: Record<string, string> = {
    ...(apiKey.value === '' ? {} : { authorization: `Bearer ${apiKey.value}` }),
    ...(agent.value === '' ? {} : { 'x-agent-id': agent.value }),
  };
  const response = await fetch(path, { headers, credentials: 'omit', ...(signal ? { signal } : {}) });
  const text = await response.text();
  if (response.ok) return text;
  if (response.status === 401) keyWasRefused();
  const { code = 'UNAVAILABLE', error = `the node answers ${response.status}` } = parsed(text);
  throw new MnemeshError({ code, message: error, status: response.status });
}

function parsed(text: string): { readonly code?: string; readonly error?: string } {
  try {
    return JSON.parse(text) as { code?: string; error?: string };
  } catch {
    return {};
  }
}
