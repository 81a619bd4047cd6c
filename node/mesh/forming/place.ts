import { createServer, isIP } from 'node:net';
import { MESH_PORT } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { isBaseUrl } from '../../config/base-url.js';

/** The address at which other nodes reach a node, and the one on which it listens. */
export interface Place {
  readonly url: string;
  readonly listen: { readonly host: string; readonly port: number };
}

const PORTS_TRIED = 100;

/**
 * Derives the place of a node from its operator's words: `url` for other nodes, `listen` as `host:port` where that
 * differs. Without either it is the given host and the first free port from 9177 on. VALIDATION_FAILED.
 */
export async function placeOf(
  url: string | undefined,
  listen: string | undefined,
  defaultHost: string,
  fromPort = MESH_PORT,
): Promise<Result<Place>> {
  const at = listen === undefined ? null : parseListen(listen);
  if (at !== null && !at.ok) return at;
  if (url === undefined) {
    const host = at?.value.host ?? defaultHost;
    if (host === '0.0.0.0' || host === '::') {
      return fail(
        'VALIDATION_FAILED',
        '--listen on every address needs --url, at which other nodes reach this one',
        {
          fields: ['url'],
        },
      );
    }
    const port = at?.value.port ?? (await freePort(host, fromPort));
    if (port === null) return fail('UNAVAILABLE', `no free port on ${host}: name a port with --url`);
    return ok({ url: `https://${bracketed(host)}:${port}`, listen: { host, port } });
  }
  if (!url.startsWith('https://') || !isBaseUrl(url)) {
    return fail('VALIDATION_FAILED', '--url must be like https://node1.example:9177', { fields: ['url'] });
  }
  const parsed = new URL(url);
  const port = parsed.port === '' ? 443 : Number(parsed.port);
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  return ok({ url: parsed.origin, listen: at?.value ?? { host, port } });
}

function parseListen(text: string): Result<{ host: string; port: number }> {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535) {
    return fail('VALIDATION_FAILED', '--listen must be host:port', { fields: ['listen'] });
  }
  return ok({ host: (match[1] ?? match[2])!, port });
}

const bracketed = (host: string) => (isIP(host) === 6 ? `[${host}]` : host);

async function freePort(host: string, from: number): Promise<number | null> {
  for (let port = from; port < MESH_PORT + PORTS_TRIED; port += 1) {
    if (await isFree(host, port)) return port;
  }
  return null;
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
}
