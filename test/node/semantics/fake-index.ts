import type {
  SemanticAbsence,
  SemanticIndex,
  SemanticRequest,
} from '../../../node/semantics/semantic-index.js';
import type { VectorEvidence } from '../../../protocol/memory/recall-request.js';

/** A semantic side that answers as it is told and keeps what it was asked. */
export class FakeIndex implements SemanticIndex {
  readonly asked: SemanticRequest[] = [];
  closed = 0;

  constructor(
    readonly name: string,
    readonly answer: () => Promise<VectorEvidence | SemanticAbsence> = () => Promise.resolve('empty'),
  ) {}

  evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    this.asked.push(request);
    return this.answer();
  }
  state() {
    return { enabled: true, loaded: true, failing: false, lastError: null, model: this.name, dim: 3 };
  }
  close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }
}

export const EVIDENCE: VectorEvidence = {
  queryVector: Float32Array.from([0.1, -0.2, 1e-30]),
  hits: [
    { rid: 7, cosine: 0.9 },
    { rid: 3, cosine: -0.25 },
  ],
  mean: 0.125,
  deviation: 0.5,
  scanned: 9,
};

export const REQUEST: SemanticRequest = {
  query: 'wo liegt der Schlüssel?\nzweite Zeile',
  contextTokens: ['a', 'b'],
  namespace: 'team/x',
  viewer: { all: false, agentId: 'ai:me', asNamespace: 'team' },
};
