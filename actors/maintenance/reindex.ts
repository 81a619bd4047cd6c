import type { Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/** Another process may have opened the database by other rules. */
const IDLE_MS = 60_000;
const RETRY_MS = 1000;
/** Between two batches, so that the writes of callers come first. */
const PAUSE_MS = 5;

/** Indexes texts again that were indexed by the rules of another release, a bounded batch in each transaction. */
export class ReindexJob {
  private underWay = false;

  constructor(
    private readonly store: Store,
    private readonly log: Pick<Log, 'info'>,
  ) {}

  async round(): Promise<NextRound> {
    const done = await this.store.execute({ kind: 'reindex-texts' }, { lane: 'background' });
    if (!done.ok) return { afterMs: RETRY_MS };
    const { more } = done.value;
    if (more !== this.underWay) {
      this.log.info({}, more ? 'the full text is being indexed again' : 'the full text is complete');
    }
    this.underWay = more;
    return { afterMs: more ? PAUSE_MS : IDLE_MS };
  }
}
