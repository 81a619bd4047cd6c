import type { NextRound } from '../../actors/core/loop.js';
import { BACKFILL_IDLE_MS, backfillRound } from '../../actors/maintenance/backfill.js';
import type { Result } from '../../protocol/base/result.js';
import type { Log } from '../../protocol/base/seams.js';
import type { EncoderRef } from '../../protocol/maintenance/encoder-ref.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { Store } from '../../storage/port.js';
import type { Embedder } from './embedder.js';
import type { LocalSemantics } from './local-semantics.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

export interface OwnedSemanticsParts {
  readonly store: Store;
  readonly log: Log;
  /** Rows that the background embedding takes at a time. */
  readonly batchRows: number;
  /** False leaves the encoders of the database as they are: a command must not begin a change. */
  readonly plans: boolean;
  /** The configured embedder is a service; whether it answers is found out at once. */
  readonly asksNetwork: boolean;
  /** The embedder of the settings, or why there is none. */
  readonly configured: () => Promise<Result<Embedder>>;
  /** The embedder whose vectors the database has; null when it can no longer be asked. */
  readonly stored: (encoder: EncoderRef) => Promise<Embedder | null>;
  readonly withVectors: (embedder: Embedder) => LocalSemantics;
}

/** A text that every encoder reads. */
const PROBE = { title: '', content: 'a' };

/** Who answers, and who takes its place. */
type Roles = { readonly searched: EncoderRef; readonly coming: EncoderRef | null };

/**
 * The semantic side of the process that owns the database. When another encoder is configured than the one whose
 * vectors the database has, the old one answers until the new one has embedded every memory; then they change places.
 */
export class OwnedSemantics implements SemanticIndex {
  /** Answers questions. */
  private searched: LocalSemantics | null = null;
  /** Embeds every memory, and answers afterwards. */
  private coming: LocalSemantics | null = null;
  private problem: string | null = null;
  private opening: Promise<void> | null = null;
  /** The searched encoder cannot be asked any more; the coming one replaces it when it has answered. */
  private replaces = false;
  private closed = false;

  constructor(private readonly parts: OwnedSemanticsParts) {}

  /** Finds out which encoders there are, and loads the index. Never rejects. */
  open(): Promise<void> {
    this.opening ??= this.begin().catch((error) => {
      this.parts.log.error({ err: error }, 'the embedder could not be opened');
      this.problem = error instanceof Error ? error.message : String(error);
      // The next round tries again.
      this.opening = null;
    });
    return this.opening;
  }

  /** Loads the model before the first question. */
  async warm(): Promise<void> {
    await this.open();
    await (this.searched ?? this.coming)?.warmEmbedder();
  }

  async evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    await this.open();
    return this.searched?.evidence(request) ?? 'failing';
  }

  state(): SemanticState {
    const state = (this.searched ?? this.coming)?.state();
    if (state === undefined) {
      const { problem } = this;
      return {
        enabled: true,
        loaded: false,
        failing: problem !== null,
        lastError: problem,
        model: 'none',
        dim: 0,
      };
    }
    // What the coming encoder meets does not touch the answers yet.
    const comingError = this.coming?.state().lastError ?? null;
    if (this.searched !== null) return { ...state, lastError: state.lastError ?? comingError };
    const lastError = state.lastError ?? 'the vectors are of an encoder that is no longer configured';
    return { ...state, loaded: false, failing: true, lastError };
  }

  /** One round of the background embedding. */
  async round(): Promise<NextRound> {
    await this.open();
    const { store, batchRows, log } = this.parts;
    if (this.closed) return { afterMs: BACKFILL_IDLE_MS };
    if (this.replaces) await this.replace();
    const { searched, coming } = this;
    const warnOf = (semantic: LocalSemantics) => (row: { readonly id: string; readonly reason: string }) =>
      log.warn(
        { ...row, model: semantic.model },
        'a memory could not be embedded; it is found by its words only',
      );
    if (searched !== null) {
      const next = await backfillRound(store, searched, { batchRows, warn: warnOf(searched) });
      if (next.afterMs === 0 || coming === null) return next;
    }
    if (coming === null || this.replaces) return { afterMs: BACKFILL_IDLE_MS };
    const next = await backfillRound(store, coming, { batchRows, coming: true, warn: warnOf(coming) });
    if (next.afterMs !== BACKFILL_IDLE_MS || coming.state().failing) return next;
    await this.takePlace(coming);
    return { afterMs: this.coming === null ? 0 : BACKFILL_IDLE_MS };
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([this.searched?.close(), this.coming?.close()]);
  }

  private async begin(): Promise<void> {
    const { parts } = this;
    const configured = await parts.configured();
    if (!configured.ok) {
      this.problem = configured.error.message;
      parts.log.error(
        { code: 'EMBED_BACKEND_UNAVAILABLE', reason: this.problem },
        'the configured embedder cannot be used; recall answers by words',
      );
      return;
    }
    const { model, dim } = configured.value;
    const own = parts.withVectors(configured.value);
    const { searched, coming } = await this.planFor({ model, dim });
    if (coming === null) this.searched = own;
    else {
      if (parts.plans) this.coming = own;
      const old = await parts.stored(searched);
      if (old !== null) this.searched = parts.withVectors(old);
      else if (parts.plans) this.replaces = true;
      else
        this.problem = `the vectors are of ${searched.model}, which can not be asked here: "mnemesh reembed" or a running node makes new ones`;
      if (parts.plans)
        parts.log.info(
          { searched: searched.model, coming: model },
          'the memories are embedded for another encoder',
        );
    }
    if (this.closed) await this.close();
    else this.start();
  }

  private start(): void {
    void this.searched?.warm();
    if (!this.parts.asksNetwork) return;
    void this.searched?.warmEmbedder();
    void this.coming?.warmEmbedder();
  }

  private async planFor(configured: EncoderRef): Promise<Roles> {
    const { store, plans } = this.parts;
    if (plans) {
      const plan = await store.execute({ kind: 'plan-encoder', configured, replace: false });
      if (!plan.ok) throw new Error(plan.error.message);
      return plan.value;
    }
    const found = await store.query({ kind: 'embedding-progress' });
    if (!found.ok) throw new Error(found.error.message);
    const searched = found.value.searched ?? configured;
    return { searched, coming: searched.model === configured.model ? null : configured };
  }

  /** The new encoder must have answered before the old vectors go: a typing error must not cost them. */
  private async replace(): Promise<void> {
    const { coming, parts } = this;
    if (coming === null) return;
    const answer = await coming.embedMemories([PROBE]);
    if (!answer.ok || this.closed) return;
    const { model, dim } = coming;
    const plan = await parts.store.execute({
      kind: 'plan-encoder',
      configured: { model, dim },
      replace: true,
    });
    if (!plan.ok) return;
    this.replaces = false;
    this.searched = coming;
    this.coming = null;
  }

  private async takePlace(coming: LocalSemantics): Promise<void> {
    const { model, dim } = coming;
    // Loads the index, so that the first question after the switch need not wait.
    await coming.warm();
    const answer = await this.parts.store.execute({ kind: 'switch-encoder', coming: { model, dim } });
    if (!answer.ok || !answer.value.switched || this.closed) return;
    const old = this.searched;
    this.searched = coming;
    this.coming = null;
    this.parts.log.info(
      { model },
      'every memory is embedded for the new encoder, which is searched from now on',
    );
    await old?.close();
  }
}
