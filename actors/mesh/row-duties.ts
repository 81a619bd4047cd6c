import { ENTROPY_INTERVAL_MS } from '../../protocol/base/limits.js';
import type { OperationPlace } from '../../protocol/log/ranges.js';
import type { ChildSpec } from '../core/child.js';
import { loopChild, type Wake } from '../core/loop.js';
import { SuspectsJob } from '../maintenance/suspects.js';
import { AntiEntropy } from './anti-entropy.js';
import { askBack } from './ask-back.js';
import type { MeshParts } from './parts.js';
import type { PeerClient } from './peer-client.js';
import type { PeerRecord } from './peer-record.js';
import { retentionRound } from './retention-duty.js';
import { scrubDuty } from './scrub-duty.js';

/** Operations on their way at a start arrive first. */
const ENTROPY_FIRST_MS = 2000;
const SUSPECTS_FIRST_MS = 1000;
const SCRUB_FIRST_MS = 30_000;
const RETENTION_FIRST_MS = 120_000;

/** The duties that maintain the rows, as loops: anti-entropy, scrub and retention. */
export class RowDuties {
  readonly specs: readonly ChildSpec[];
  private readonly entropy: AntiEntropy | null = null;
  private readonly suspects: { readonly job: SuspectsJob; readonly wake: Wake };
  private readonly wake: () => void = () => {};
  private stopping = false;

  constructor(
    parts: MeshParts,
    private readonly client: PeerClient,
    private readonly members: () => readonly PeerRecord[],
  ) {
    const { store, verifier, clock, scheduler, log, policy, settings, onEvent, self } = parts;
    const { entropyIntervalMs = ENTROPY_INTERVAL_MS, scrubIntervalMs = 0, payloadKeptMs = 0 } = settings;
    const common = { policy, scheduler, clock };
    const stopping = () => this.stopping;
    const specs: ChildSpec[] = [];
    if (entropyIntervalMs > 0) {
      const seams = { store, verifier, clock, log, onEvent, stopping };
      const entropy = new AntiEntropy({ ...seams, client, records: members, intervalMs: entropyIntervalMs });
      const loop = loopChild({
        ...common,
        id: 'anti-entropy',
        firstAfterMs: Math.min(ENTROPY_FIRST_MS, entropyIntervalMs),
        round: () => entropy.round(),
      });
      this.entropy = entropy;
      this.wake = () => loop.wake.now();
      specs.push(loop.spec);
    }
    const back = (places: readonly OperationPlace[]) => this.askBack(places);
    const job = new SuspectsJob({ store, verifier, askBack: back, clock, log });
    const suspects = loopChild({
      ...common,
      id: 'suspects',
      firstAfterMs: SUSPECTS_FIRST_MS,
      round: () => job.round(),
    });
    this.suspects = { job, wake: suspects.wake };
    specs.push(suspects.spec);
    if (scrubIntervalMs > 0) {
      const seams = { store, verifier, clock, log, onEvent, stopping };
      const duty = { ...seams, askBack: back, intervalMs: scrubIntervalMs, agentId: self.peerId };
      const round = () => scrubDuty(duty);
      specs.push(loopChild({ ...common, id: 'scrub', firstAfterMs: SCRUB_FIRST_MS, round }).spec);
    }
    if (payloadKeptMs > 0) {
      const round = () => retentionRound({ store, clock, records: members, keptMs: payloadKeptMs, stopping });
      specs.push(loopChild({ ...common, id: 'retention', firstAfterMs: RETENTION_FIRST_MS, round }).spec);
    }
    this.specs = specs;
  }

  /** A damaged row was found: repair it now. */
  suspected(): void {
    this.suspects.wake.now();
  }

  /** A peer is back: compare with it at the next round, and ask it for the operations that damaged rows need. */
  reconnected(peerId: string): void {
    this.suspects.job.retry();
    this.entropy?.request(peerId);
  }

  /** A peer found that its rows differ from this node's: compare with it soon. */
  differing(record: PeerRecord): void {
    this.entropy?.differing(record);
    this.wake();
  }

  /** Ends the work under way early. */
  end(): void {
    this.stopping = true;
  }

  private askBack(places: readonly OperationPlace[]): ReturnType<typeof askBack> {
    const asked = this.members().filter(({ connection }) => connection.state === 'healthy');
    return askBack(
      this.client,
      asked.map(({ peer }) => peer),
      places,
    );
  }
}
