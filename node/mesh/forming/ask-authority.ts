import type { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { ROSTER_BODY_BYTES_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Scheduler } from '../../../protocol/base/seams.js';
import { API_PREFIX } from '../../bindings/api-prefix.js';
import { connectTo, UntrustedError } from '../tls/connect-tls.js';
import { fingerprintOfCertificate, isIssuedBy } from './certificate.js';
import { guestCertificate } from './guest-certificate.js';
import { JOIN_PATH, type JoinRequest } from './join-messages.js';
import type { JoinToken } from './join-token.js';
import { parseJson } from './mesh-folder.js';

export interface AuthorityAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A connection of an invited node to the authority of a mesh. */
export interface AuthorityConnection {
  /** This machine's address on the connection; the authority's network can call it. */
  readonly localAddress: string;
  /** UNAVAILABLE when no answer comes. */
  ask(request: JoinRequest): Promise<Result<AuthorityAnswer>>;
  close(): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 30_000;

/**
 * Connects to the inviting node: by TLS pinned to the authority of the token, with the invitation's own certificate.
 * UNAVAILABLE when no node answers there, FORBIDDEN when it is not the authority's node.
 */
export async function askAuthority(
  token: JoinToken,
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
): Promise<Result<AuthorityConnection>> {
  const verify = (socket: TLSSocket) => problemOf(socket, token.meshId, clock.nowMs());
  const options = {
    url: token.url,
    client: guestCertificate(token.secret, clock.nowMs()),
    authorities: null,
  };
  const opened = await new Promise<Result<TLSSocket>>((resolve) => {
    connectTo({ ...options, verify, scheduler }, (error, socket) => {
      if (socket !== null) resolve(ok(socket as TLSSocket));
      else if (error instanceof UntrustedError) resolve(fail('FORBIDDEN', error.message));
      else {
        const why = error?.message ?? 'no connection';
        resolve(fail('UNAVAILABLE', `cannot reach ${token.url}: ${why}; is "mnemesh serve" running there?`));
      }
    });
  });
  if (!opened.ok) return opened;
  const socket = opened.value;
  let first: TLSSocket | null = socket;
  const client = new Client(new URL(token.url).origin, {
    maxResponseSize: ROSTER_BODY_BYTES_MAX,
    connect: (_options, callback) => {
      const given = first;
      first = null;
      // The client cannot take a connection that arrives synchronously.
      scheduler.immediate(() => {
        if (given === null) callback(new Error('the connection was closed'), null);
        else callback(null, given);
      });
    },
  });
  return ok({
    localAddress: socket.localAddress ?? '127.0.0.1',
    ask: (request) => ask(client, request, scheduler, token.url),
    close: () => client.destroy(),
  });
}

async function ask(
  client: Client,
  request: JoinRequest,
  scheduler: Scheduler,
  url: string,
): Promise<Result<AuthorityAnswer>> {
  const controller = new AbortController();
  const timer = scheduler.after(ANSWER_TIMEOUT_MS, () => controller.abort(), { keepAlive: true });
  try {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: `${API_PREFIX}${JOIN_PATH}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: controller.signal,
    });
    return ok({ status: statusCode, body: parseJson(await body.text()) });
  } catch (error) {
    // With TLS 1.3 a refused certificate only shows at the first read.
    const why = (error as Error).message;
    return fail(
      'UNAVAILABLE',
      `${url} gave no answer (${why}): the invitation is unknown there, was used or has expired; ask for another one`,
    );
  } finally {
    timer.cancel();
  }
}

/** Why the other side is not a node of the authority in the token; null when it is. */
function problemOf(socket: TLSSocket, meshId: string, nowMs: number): string | null {
  const leaf = socket.getPeerX509Certificate();
  const authority = leaf?.issuerCertificate;
  if (leaf === undefined || authority === undefined) return 'the other side presented no authority';
  if (fingerprintOfCertificate(authority) !== meshId) {
    return (
      'the other side belongs to another authority than the one that invited: ' +
      'run "mnemesh mesh status" on the inviting node, which says whether it listens there'
    );
  }
  return isIssuedBy(leaf, authority, nowMs)
    ? null
    : 'the certificate of the other side is not from that authority, or not valid now';
}
