/** What says where a request comes from. */
export interface RequestSource {
  readonly host: string | undefined;
  /** The page that a browser says it comes from. */
  readonly origin: string | undefined;
  /** How near a browser says that page is: `Sec-Fetch-Site`. */
  readonly fetchSite: string | undefined;
}

/** Why a request is refused because of where it comes from; null when it is not. */
export type HostGuard = (source: RequestSource) => string | null;

const WRONG_HOST = 'this node is not served under that host name: use its address';
const WRONG_PAGE =
  'pages of other sites may not use this node: list their origin in [http] cors_origins to permit them';

/**
 * Protects a node from pages in browsers. A page of another site or port is recognised by its Origin, which must be
 * this node's own or listed; where a browser sends none, for an image say, by Sec-Fetch-Site. A node that listens on
 * loopback can also be reached by a name that was re-bound to 127.0.0.1; a node on another address is reached by names
 * that it cannot know, and has its API key.
 */
export function hostGuard(boundHost: string, listed: (origin: string) => boolean): HostGuard {
  const bound = bare(boundHost.toLowerCase());
  const anyHost = !isLoopback(bound);
  // A client usually sends the same value, so most requests need one comparison.
  let known = '';
  return ({ host, origin, fetchSite }) => {
    if (!anyHost && host !== undefined && host !== known) {
      const name = hostname(host);
      if (!isLoopback(name) && name !== bound) return WRONG_HOST;
      known = host;
    }
    if (origin !== undefined && listed(origin)) return null;
    if (origin !== undefined && !isOwn(origin, host)) return WRONG_PAGE;
    return fetchSite === 'cross-site' || fetchSite === 'same-site' ? WRONG_PAGE : null;
  };
}

/** True for the origin of a page that came from the address that the request was sent to. */
function isOwn(origin: string, host: string | undefined): boolean {
  if (host === undefined) return false;
  const [scheme, authority] = origin.toLowerCase().split('://');
  return (scheme === 'http' || scheme === 'https') && authority === host.toLowerCase();
}

/** The host of `host[:port]`, lower case, without brackets; empty when the text has another form. */
function hostname(authority: string): string {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/@[\]]+)(?::\d{0,5})?$/.exec(authority);
  return match === null ? '' : bare(match[1]!.toLowerCase());
}

const bare = (host: string) => (host.startsWith('[') ? host.slice(1, -1) : host);

/** True for the address of a connection from this machine to itself. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && isLoopback(address.replace(/^::ffff:/, ''));
}

/** True for a name or address of this machine itself, `[::1]` in brackets too. */
export const isLoopbackHost = (host: string): boolean => isLoopback(bare(host.toLowerCase()));

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
  );
}
