import type { Have } from '../../protocol/log/wire-operation.js';
import type { VerifiedBatch } from '../../protocol/replication/verified-batch.js';
import type { CheckedPullReply } from '../../protocol/wire/pull-reply.js';

/** A page as its peer answered it, and the operations that passed verification. */
export interface VerifiedPage {
  readonly reply: CheckedPullReply;
  readonly batch: VerifiedBatch;
}

/** A page that was requested before the previous one was applied. */
export interface Ahead {
  readonly from: Have;
  readonly page: Promise<VerifiedPage | null>;
}

/** Pages requested beyond the one that is being applied: one is verified while the other one travels. */
const PAGES_AHEAD = 2;

/** Requests pages before it is known that the pages before them are taken whole. */
export class ReadAhead {
  private pages: Ahead[] = [];
  /** Where the last page received ends, when more follows that was not requested yet. */
  private tip: Have | null = null;

  constructor(private readonly ask: (from: Have) => Promise<VerifiedPage | null>) {}

  /** A page that was requested at `from` is about to be applied. */
  goOn(from: Have, reply: CheckedPullReply): void {
    if (this.pages.length === 0) this.tip = endOf(from, reply);
    this.fill();
  }

  /** The next page, when it was requested from the present position. */
  next(known: Have): Ahead | null {
    const ahead = this.pages.shift() ?? null;
    if (ahead !== null && sameHave(known, ahead.from)) return ahead;
    this.drop();
    return null;
  }

  /** Drops pages that are no longer of use. */
  drop(): void {
    this.pages = [];
    this.tip = null;
  }

  private fill(): void {
    if (this.tip === null || this.pages.length >= PAGES_AHEAD) return;
    const from = this.tip;
    this.tip = null;
    const ahead: Ahead = { from, page: this.ask(from) };
    this.pages.push(ahead);
    ahead.page.then(
      (answered) => {
        if (answered === null || this.pages.at(-1) !== ahead) return;
        this.tip = endOf(from, answered.reply);
        this.fill();
      },
      () => undefined,
    );
  }
}

function endOf(from: Have, { more, operations }: CheckedPullReply): Have | null {
  if (!more || operations.length === 0) return null;
  const end: Record<string, number> = { ...from };
  for (const { origin, seq } of operations) end[origin] = Math.max(end[origin] ?? 0, seq);
  return end;
}

function sameHave(one: Have, other: Have): boolean {
  const origins = Object.keys(one);
  return (
    origins.length === Object.keys(other).length && origins.every((origin) => one[origin] === other[origin])
  );
}
