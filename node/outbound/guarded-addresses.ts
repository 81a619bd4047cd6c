import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { addressRefusal, hostOf } from './address-guard.js';
import { Lookups, type Resolved } from './lookups.js';

/** Addresses that a connection may go to; at least one. */
export type Addresses = readonly [Resolved, ...Resolved[]];

/** A target that must not be called: its own address, or what its name resolves to. */
export class TargetRefused extends Error {
  constructor(readonly by: 'address' | 'name') {
    super(`the ${by} is refused`);
  }
}

export interface GuardOptions {
  readonly allowsLoopback: boolean;
  /** True where a name that cannot be resolved is a failure of the network, and not a refusal. */
  readonly allowsDnsFailure: boolean;
  /** The resolver of the system unless given. */
  readonly resolve?: (host: string) => Promise<readonly Resolved[]>;
}

/** Says which addresses of a host a connection may go to. */
export class GuardedAddresses {
  readonly #lookups: Lookups;

  constructor(private readonly options: GuardOptions) {
    this.#lookups = new Lookups(options.resolve ?? ((name) => systemLookup(name, { all: true })));
  }

  /** The first one of each family, after all of them were checked. Throws TargetRefused. */
  async of(url: URL, signal: AbortSignal): Promise<Addresses> {
    const host = hostOf(url);
    const family = isIP(host);
    const found = family === 0 ? await this.#resolved(host, signal) : [{ address: host, family }];
    const [first] = found;
    if (first === undefined) throw new TargetRefused('name');
    const { allowsLoopback } = this.options;
    if (found.some(({ address }) => addressRefusal(address, allowsLoopback) !== null))
      throw new TargetRefused(family === 0 ? 'name' : 'address');
    // Without TLS only this machine is called, whatever its name resolves to.
    const isHere = ({ address }: Resolved) => addressRefusal(address, false) !== null;
    if (url.protocol === 'http:' && !found.every(isHere)) throw new TargetRefused('name');
    const second = found.find((other) => other.family !== first.family);
    return second === undefined ? [first] : [first, second];
  }

  async #resolved(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    try {
      return await this.#lookups.of(host, signal);
    } catch (error) {
      signal.throwIfAborted();
      // There is no address to call either way; permitted, the failure is one of the network.
      if (this.options.allowsDnsFailure) throw error;
      throw new TargetRefused('name');
    }
  }
}
