import { systemClock, systemCrypto, systemFetch, systemRandom, systemScheduler } from '../seams.js';
import { checkedAgent, RETRIES_MAX, TIMEOUT_MS_MAX, wholeNumber } from './checked.js';
import { MnemeshError as ClientError, refused } from './client-error.js';
import { HttpClient } from './http-client.js';
import { methodOf } from './method-names.js';
import type { CallOptions, ClientOptions, SignableMemory, Signed, Signer, SignerOptions } from './public.js';
import type { Input } from './request.js';
import { ROUTES } from './route-table.js';
import { decisionHeaders, createSigner as signerWith, signMemory as signWith } from './sign-memory.js';
import type { Signing } from './signing.js';

const SIGNING_PARTS = { clock: systemClock, crypto: systemCrypto };
const SIGNING: Signing = {
  memory: (signer, memory) => signWith(signer, memory, SIGNING_PARTS),
  decision: (route, subject, body, secret) => decisionHeaders(route, subject, body, secret, SIGNING_PARTS),
};

const DEFAULT_URL = 'http://127.0.0.1:9077';
const DEFAULT_RETRIES = 2;
const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Makes a client of a node; it opens no connection before its first call. Besides `call` it has a method for each operation, in
 * camel case, whose types only the declaration knows. Throws MnemeshError for wrong options.
 */
export function createClient(options: ClientOptions = {}): HttpClient {
  const client = new HttpClient({
    routes: ROUTES,
    url: urlOf(options.url ?? DEFAULT_URL),
    agentId: agentOf(options),
    apiKey: options.apiKey ?? null,
    signer: options.signer ?? null,
    approvalSecret: options.approvalSecret ?? null,
    signing: SIGNING,
    retries: wholeNumber('retries', options.retries ?? DEFAULT_RETRIES, 0, RETRIES_MAX),
    timeoutMs: wholeNumber('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS, 1, TIMEOUT_MS_MAX),
    fetch: fetchOf(options.fetch),
    ...{ random: systemRandom, scheduler: systemScheduler },
  });
  const methods = ROUTES.map(({ name }) => [
    methodOf(name),
    (input?: Input, each?: CallOptions) => client.call(name, input, each),
  ]);
  return Object.assign(client, Object.fromEntries(methods));
}

export const MnemeshError = ClientError;

/** A signer with the private key of an agent. */
export const createSigner = (options: SignerOptions): Signer => signerWith(options);

/** The memory with its signature, for `memoryStore` and for POST /memories. */
export const signMemory = <M extends SignableMemory>(signer: Signer, memory: M): Promise<M & Signed> =>
  signWith(signer, memory, SIGNING_PARTS);

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url;
  throw refused('url must be the address of a node, such as http://127.0.0.1:9077', ['url']);
}

/** The fetch of a platform may want to be called by itself. */
function fetchOf(given: ClientOptions['fetch']): typeof systemFetch {
  return given === undefined ? systemFetch : (input, init) => given(input, init);
}

function agentOf({ agentId, signer }: ClientOptions): string | null {
  if (agentId !== undefined && signer !== undefined && agentId !== signer.agentId)
    throw refused(`the signer is of ${signer.agentId}, and agentId is ${agentId}`, ['agentId', 'signer']);
  return checkedAgent(agentId ?? signer?.agentId ?? null);
}
