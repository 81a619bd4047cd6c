import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { peerOfStatement } from '../../protocol/peers/roster-statement.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import type { Settings } from '../config/settings.js';
import { parseJson } from './forming/mesh-folder.js';
import type { FormedMesh } from './forming/mesh-state.js';
import { fingerprintOfPem } from './tls/certificate-files.js';
import { type PeerTrust, UndiciTransport } from './undici-transport.js';

const TIMEOUT_MS = 8000;
/** The address at which a node that listens on every address is asked. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export interface AskDaemonParts {
  readonly settings: Settings;
  readonly peerId: string;
  /** Null for a node that belongs to no formed mesh. */
  readonly formed: FormedMesh | null;
  readonly scheduler: Scheduler;
}

/**
 * Asks this node's own daemon. In a mesh it calls the daemon's address for peers with the node's own certificate, so it
 * needs neither port nor API key. Otherwise it calls the address at which `serve` listens by the settings. Null when
 * this daemon does not answer there.
 */
export async function askDaemon(parts: AskDaemonParts, path: string, query = ''): Promise<unknown> {
  for (const { peer, trust } of waysTo(parts)) {
    const transport = new UndiciTransport({ scheduler: parts.scheduler, trustOf: () => trust });
    try {
      const request = {
        method: 'GET',
        path: `${API_PREFIX}${path}`,
        query,
        headers: {},
        body: null,
      } as const;
      const reply = await transport.send(peer, request, TIMEOUT_MS);
      if (reply.kind !== 'answer') continue;
      const body = parseJson(new TextDecoder().decode(reply.body)) as { readonly peer_id?: unknown } | null;
      // Another node may use the port.
      if (reply.status === 200 && body?.peer_id === parts.peerId) return body;
    } finally {
      await transport.close();
    }
  }
  return null;
}

function waysTo({ settings, peerId, formed }: AskDaemonParts): { peer: Peer; trust: PeerTrust }[] {
  const own = formed?.statements.get(peerId)?.statement;
  const stated = own === undefined ? null : peerOfStatement(own);
  const byMesh =
    formed === null || stated === null || stated.url === null
      ? []
      : [
          {
            peer: stated,
            trust: {
              client: formed.pair,
              authorities: [formed.authority],
              names: 'peer' as const,
              fingerprints: stated.fingerprints,
            },
          },
        ];
  return [...byMesh, byApi(settings, peerId)];
}

function byApi(settings: Settings, peerId: string): { peer: Peer; trust: PeerTrust } {
  const { tlsCert, quorumCaCert, quorumClientCert, quorumClientKey, apiKey } = settings;
  const host = EVERYWHERE[settings.host] ?? settings.host;
  const url = `${tlsCert === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${settings.port}`;
  const known = [tlsCert, quorumCaCert].flatMap((path) => (path === null ? [] : (textOf(path) ?? [])));
  const ownCert = tlsCert === null ? null : textOf(tlsCert);
  const cert = quorumClientCert === null ? null : textOf(quorumClientCert);
  const key = quorumClientKey === null ? null : textOf(quorumClientKey);
  const peer: Peer = {
    peerId,
    url,
    publicKey: new Uint8Array(0),
    fingerprints: [],
    allowedNamespaces: null,
    allowedSenderAgentIds: [],
    state: 'member',
  };
  return {
    peer,
    trust: {
      client: cert === null || key === null ? null : { cert, key },
      authorities: known.length === 0 ? null : [...rootCertificates, ...known],
      names: 'host',
      // The certificate is this node's own, whatever it names.
      fingerprints: ownCert === null ? [] : [fingerprintOfPem(ownCert)],
      ...(apiKey === null ? {} : { headers: { 'x-api-key': apiKey.reveal() } }),
    },
  };
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
