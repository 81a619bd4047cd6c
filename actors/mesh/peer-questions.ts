import type { Result } from '../../protocol/base/result.js';
import type { RangesQuestion } from '../../protocol/log/ranges.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Dated } from '../../protocol/wire/ranges-messages.js';
import type { Store } from '../../storage/port.js';
import type { PeerClient } from './peer-client.js';

export interface PeerQuestionsParts {
  readonly store: Store;
  readonly client: Pick<PeerClient, 'ask'>;
  /** True once no new work may begin. */
  readonly stopping: () => boolean;
}

/** The questions of one comparison with a peer, and what made it fail. */
export class PeerQuestions {
  /** Why the comparison failed; null while nothing did. */
  problem: string | null = null;

  constructor(
    readonly peer: Peer,
    private readonly parts: PeerQuestionsParts,
  ) {}

  get store(): Store {
    return this.parts.store;
  }

  /** Asks the peer; null when it gives no proper answer. */
  async ask<R>(
    question: RangesQuestion,
    check: (body: Uint8Array) => Dated<R> | null,
  ): Promise<Dated<R> | null> {
    if (this.parts.stopping()) return this.fail('this node is stopping');
    const answer = await this.parts.client.ask(this.peer, question, check);
    return answer.ok ? answer.reply : this.fail(`${answer.cause}: ${answer.message}`);
  }

  /** The answer of the own store; null when it failed. */
  take<T>(result: Result<T>): T | null {
    return result.ok ? result.value : this.fail(`${result.error.code}: ${result.error.message}`);
  }

  private fail(problem: string): null {
    this.problem = problem;
    return null;
  }
}
