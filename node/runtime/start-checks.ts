import { isTokenText } from '../../protocol/base/ids.js';
import type { Log } from '../../protocol/base/seams.js';
import { ConfigError } from '../config/load-settings.js';
import type { Settings } from '../config/settings.js';
import { isLoopbackHost } from '../http/host-guard.js';

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** Throws ConfigError for an address on which the node may not listen, or at which it would be its own peer, and for a key that none is. */
export function refuseUnsafeListening(settings: Settings): void {
  if (!LOOPBACK.has(settings.host) && settings.apiKey === null && settings.mtlsAllowlist === null) {
    throw new ConfigError(
      `refusing to listen on ${settings.host} without an API key: set SVC_API_KEY, enforce --mtls-allowlist, or bind 127.0.0.1`,
    );
  }
  if (isTokenText(settings.apiKey?.reveal() ?? '')) {
    throw new ConfigError('api_key is an access token, which is for clients: give the node a key of its own');
  }
  refuseOwnAddress(settings);
}

/**
 * A node that waits for its own copy would wait in vain (interface §4.13). If another name leads to this node, the state
 * of the wired peer shows it later.
 */
function refuseOwnAddress({ host, port, quorumPeers }: Settings): void {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const own = quorumPeers.find((url) => {
    const { hostname, port: named, protocol } = new URL(url);
    const at = named === '' ? (protocol === 'https:' ? 443 : 80) : Number(named);
    const there = hostname.replace(/^\[|\]$/g, '').toLowerCase();
    const isHere =
      there === host.toLowerCase() || (isLoopbackHost(there) && (isEverywhere || isLoopbackHost(host)));
    return at === port && isHere;
  });
  if (own === undefined) return;
  throw new ConfigError(`--quorum-peers names this node itself (${new URL(own).origin}): leave it out`);
}

/** Without an API key any caller may name itself an admin, so the node trusts no admin name (interface §5.4). */
export function warnOfUntrustedAdmins(settings: Settings, log: Log): void {
  if (settings.adminAgentIds.length === 0 || settings.apiKey !== null) return;
  if (settings.adminHeaderTrust) {
    log.warn(
      { code: 'ADMIN_HEADER_TRUST' },
      'admin routes trust X-Agent-Id without an API key (SVC_ADMIN_HEADER_TRUST): keep this node isolated',
    );
    return;
  }
  log.warn(
    { code: 'ADMIN_WITHOUT_API_KEY' },
    'admins are configured but no API key, so X-Agent-Id is not trusted and the admin routes answer 403 to every caller; set SVC_API_KEY, or SVC_ADMIN_HEADER_TRUST=1 on an isolated machine',
  );
}
