import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

/** Answers while this process has an encoder open, as the owner of the database does; else it may open one when asked. */
export class RoleSemantics implements SemanticIndex {
  private local: SemanticIndex | null = null;
  private stepIn: (() => Promise<void>) | null = null;
  /** False after a question that no process could answer. */
  private reachable = true;

  /** Sets the local side when the ownership begins, and null when it ends. */
  own(local: SemanticIndex | null): void {
    this.local = local;
  }

  /** `stepIn` tries to become the one who answers; it resolves when it is, or cannot be. */
  whenUnreachable(stepIn: () => Promise<void>): void {
    this.stepIn = stepIn;
  }

  async evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    if (this.local === null) await this.stepIn?.();
    // Stepping in may have set it.
    const local = this.local as SemanticIndex | null;
    this.reachable = local !== null;
    if (local === null) return 'unreachable';
    const found = await local.evidence(request);
    // An ownership that began meanwhile has closed what was asked.
    const next = this.local;
    return typeof found === 'string' && next !== null && next !== local ? next.evidence(request) : found;
  }

  state(): SemanticState {
    return this.local?.state() ?? stateOfOwner(this.reachable);
  }

  async close(): Promise<void> {
    await this.local?.close();
  }
}

/** The state of a process that has no encoder open. */
const stateOfOwner = (reachable: boolean): SemanticState => ({
  enabled: true,
  loaded: reachable,
  failing: !reachable,
  lastError: reachable ? null : 'the process that owns the database does not answer',
  model: 'owner',
  dim: 0,
});
