import type { Clock } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';

interface Mark {
  readonly seq: number;
  readonly atMs: number;
}

const MARKS_MAX = 1024;

/** How far this database's own log is, and since when. */
export class OwnLog {
  origin: string | null = null;
  /** Sequence of the last own operation. */
  end = 0;
  /** When the log was seen to reach a sequence, oldest first; for the lag in seconds. */
  private marks: Mark[] = [];

  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly onChange: (change: 'origin' | 'grown') => void,
  ) {}

  /** Looks at the log; false when the store did not answer. */
  async refresh(): Promise<boolean> {
    const position = await this.store.query({ kind: 'log-position' });
    if (!position.ok) return false;
    const { peerId, dbEpoch, originSeq } = position.value;
    this.reached(`${peerId}/${dbEpoch}`, originSeq);
    return true;
  }

  /** A caller knows that the own log has reached this sequence. */
  reached(origin: string, seq: number): void {
    if (origin !== this.origin) {
      this.origin = origin;
      this.end = seq;
      this.marks = [{ seq, atMs: this.clock.monotonicMs() }];
      this.onChange('origin');
      return;
    }
    if (seq <= this.end) return;
    this.end = seq;
    this.marks.push({ seq, atMs: this.clock.monotonicMs() });
    // When there are too many marks, every other one is dropped: the lag is then less precise.
    if (this.marks.length > MARKS_MAX) this.marks = this.marks.filter((_, index) => index % 2 === 1);
    this.onChange('grown');
  }

  /** For how many milliseconds the log has been longer than `acked`; 0 when it is not. */
  lagMs(acked: number): number {
    if (acked >= this.end) return 0;
    const first = this.marks.find(({ seq }) => seq > acked);
    return first === undefined ? 0 : this.clock.monotonicMs() - first.atMs;
  }
}
