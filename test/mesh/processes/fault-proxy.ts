import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { event } from '../../support/wait.js';

/**
 * What happens to the bytes of a connection. `hold` keeps them until the rule changes, as a network does that is cut and
 * mended; `drop` loses them, so that the connection is reset when the rule changes; `deaf` loses the answers alone;
 * `half-open` ends the far side without a word to the near one; `reset` refuses.
 */
export type LinkRule =
  | { readonly kind: 'pass' | 'hold' | 'drop' | 'deaf' | 'half-open' | 'reset' }
  | { readonly kind: 'delay'; readonly ms: number };

export const PASS: LinkRule = { kind: 'pass' };

/** Passes TCP connections on to a node, and does to them what the rule for their source says. */
export class FaultProxy {
  private readonly carried = new Set<Carried>();

  private constructor(
    private readonly server: Server,
    private readonly options: ProxyOptions,
  ) {
    server.on('connection', (near: Socket) => {
      const carried = new Carried(
        near,
        options.targetPort,
        options.sourceOf(near.remotePort ?? 0, this.port),
      );
      this.carried.add(carried);
      near.once('close', () => this.carried.delete(carried));
      carried.follow(options.ruleOf(carried.source));
    });
  }

  static async open(options: ProxyOptions): Promise<FaultProxy> {
    const server = createServer({ pauseOnConnect: true });
    const proxy = new FaultProxy(server, options);
    server.listen(0, '127.0.0.1');
    await event('the proxy listens', server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The rules have changed. */
  changed(): void {
    for (const carried of this.carried) carried.follow(this.options.ruleOf(carried.source));
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = event('the proxy closes', this.server, 'close');
    this.server.close();
    for (const { near } of this.carried) near.destroy();
    await closed;
  }
}

export interface ProxyOptions {
  readonly targetPort: number;
  /** Who opened a connection; null for somebody else. */
  readonly sourceOf: (fromPort: number, proxyPort: number) => string | null;
  readonly ruleOf: (source: string | null) => LinkRule;
}

/** One connection: the near side called, the far side is the node. */
class Carried {
  private readonly far: Socket;
  private rule: LinkRule = { kind: 'hold' };
  /** True when bytes were lost: the connection is of no use any more. */
  private spoilt = false;
  /** What waits to be passed on to a side: how much, and when the last of it has been. */
  private readonly late = new Map<Socket, number>();
  private readonly turns = new Map<Socket, Promise<void>>();

  constructor(
    readonly near: Socket,
    targetPort: number,
    readonly source: string | null,
  ) {
    this.far = connect({ host: '127.0.0.1', port: targetPort });
    // What fails on one side ends the other, unless the rule keeps it from hearing of it.
    for (const [side, other] of [
      [near, this.far],
      [this.far, near],
    ] as const) {
      side.setNoDelay(true);
      side.on('error', () => undefined);
      side.on('data', (bytes) => this.carry(bytes, side, other));
      side.on('end', () => this.pass(other, () => other.end()));
      side.on('close', () => {
        if (this.rule.kind !== 'half-open' && this.rule.kind !== 'hold') other.destroy();
        else this.spoilt = true;
      });
      side.pause();
    }
  }

  follow(rule: LinkRule): void {
    const broken = rule.kind === 'reset' || (this.spoilt && rule.kind !== this.rule.kind);
    this.rule = rule;
    if (broken) {
      this.near.resetAndDestroy();
      this.far.destroy();
      return;
    }
    if (rule.kind === 'half-open') this.far.destroy();
    for (const side of [this.near, this.far]) {
      if (rule.kind === 'hold') side.pause();
      else side.resume();
    }
  }

  private carry(bytes: Buffer, from: Socket, to: Socket): void {
    const { kind } = this.rule;
    if (kind === 'drop' || kind === 'half-open' || (kind === 'deaf' && from === this.far)) {
      this.spoilt = true;
      return;
    }
    this.pass(to, () => {
      // The other side is not faster than its reader.
      if (!to.write(bytes) && this.rule.kind === 'pass') {
        from.pause();
        to.once('drain', () => {
          if (this.rule.kind !== 'hold') from.resume();
        });
      }
    });
  }

  /** Now, or after the delay of the rule; never before what came earlier. */
  private pass(to: Socket, run: () => void): void {
    const guarded = () => {
      if (!to.destroyed && to.writable) run();
    };
    const waiting = this.late.get(to) ?? 0;
    if (this.rule.kind !== 'delay' && waiting === 0) {
      guarded();
      return;
    }
    const { rule } = this;
    const pause = rule.kind === 'delay' ? new Promise((resume) => setTimeout(resume, rule.ms)) : null;
    this.late.set(to, waiting + 1);
    this.turns.set(
      to,
      Promise.all([this.turns.get(to), pause]).then(() => {
        this.late.set(to, this.late.get(to)! - 1);
        guarded();
      }),
    );
  }
}
