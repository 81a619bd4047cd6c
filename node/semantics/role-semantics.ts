import type { VectorEvidence } from '../../protocol/ranking/types.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

/** Answers locally while this process owns the database; otherwise asks the owner. */
export class RoleSemantics implements SemanticIndex {
  private local: SemanticIndex | null = null;

  constructor(private readonly remote: SemanticIndex) {}

  /** Sets the local side when the ownership begins, and null when it ends. */
  own(local: SemanticIndex | null): void {
    this.local = local;
  }

  evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    return (this.local ?? this.remote).evidence(request);
  }

  state(): SemanticState {
    return (this.local ?? this.remote).state();
  }

  async close(): Promise<void> {
    await this.local?.close();
    await this.remote.close();
  }
}
