/** What chat models are asked for. */
export const MODEL_FEATURES = [
  'auto_tag',
  'expand_query',
  'detect_contradiction',
  'consolidate',
  'persona',
  'atomise',
  'ingest_multistep',
  'curator',
  'session_start',
  'reflect',
  'synthesis',
  'classify_kind',
] as const;

export type ModelFeature = (typeof MODEL_FEATURES)[number];

/** The sections of the configuration that describe a chat model. */
export type ModelSection = 'llm' | 'llm.auto_tag';

const BY_SMALL_MODEL: ReadonlySet<ModelFeature> = new Set([
  'auto_tag',
  'expand_query',
  'detect_contradiction',
  'classify_kind',
]);

/** The section whose model serves a feature (reference-mcp-cli §4). */
export const sectionOf = (feature: ModelFeature): ModelSection =>
  BY_SMALL_MODEL.has(feature) ? 'llm.auto_tag' : 'llm';
