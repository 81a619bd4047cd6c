import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

/**
 * Answers locally while this process owns the database; otherwise asks the owner. When it does not answer, this process may
 * step in.
 */
export class RoleSemantics implements SemanticIndex {
  private local: SemanticIndex | null = null;
  private stepIn: (() => Promise<void>) | null = null;

  constructor(private readonly remote: SemanticIndex) {}

  /** Sets the local side when the ownership begins, and null when it ends. */
  own(local: SemanticIndex | null): void {
    this.local = local;
  }

  /** `stepIn` tries to become the one who answers; it resolves when it is, or cannot be. */
  whenUnreachable(stepIn: () => Promise<void>): void {
    this.stepIn = stepIn;
  }

  async evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    if (this.local !== null) return this.local.evidence(request);
    const found = await this.remote.evidence(request);
    if (found !== 'unreachable' || this.stepIn === null) return found;
    await this.stepIn();
    // The ownership may have changed while it was waited for.
    const local = this.local as SemanticIndex | null;
    return local === null ? found : local.evidence(request);
  }

  state(): SemanticState {
    return (this.local ?? this.remote).state();
  }

  async close(): Promise<void> {
    await this.local?.close();
    await this.remote.close();
  }
}
