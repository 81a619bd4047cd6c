/** Decides by the Host and Origin headers whether a request is allowed. */
export type HostGuard = (host: string | undefined, origin: string | undefined) => boolean;

/**
 * Protects a node that listens on loopback from web pages: a page of another site can reach it by a
 * name that was re-bound to 127.0.0.1 (then Host is that name), or by a plain cross-site request (then Origin is that
 * site). A node on another address is reached by names that it cannot know, and has its API key.
 */
export function hostGuard(boundHost: string): HostGuard {
  const bound = bare(boundHost.toLowerCase());
  if (!isLoopback(bound)) return () => true;
  const isOurs = (host: string) => isLoopback(host) || host === bound;
  // A client usually sends the same values, so most requests need one comparison.
  let known = '';
  return (host, origin) => {
    if (host !== undefined && host !== known) {
      if (!isOurs(hostname(host))) return false;
      known = host;
    }
    if (origin === undefined) return true;
    const scheme = origin.indexOf('://');
    return scheme !== -1 && isOurs(hostname(origin.slice(scheme + 3)));
  };
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
