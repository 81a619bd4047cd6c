import { permittedFamilies } from '../../../config/tool-allowlist.js';
import { FAMILIES, type Family } from '../../../config/tool-families.js';
import type { Profile } from '../../../config/tool-profile.js';
import type { ModelFeature } from '../../../models/features.js';
import type { Condition, ReadCall } from '../../../pipeline/call.js';
import { isReranking, type RerankerState } from '../../../semantics/reranker/reranker.js';
import type { SemanticState } from '../../../semantics/semantic-index.js';

export type RecallMode = 'hybrid' | 'degraded' | 'keyword_only';

export interface ToolState {
  readonly name: string;
  readonly family: Family;
  /** The profile in force offers the tool. */
  readonly loaded: boolean;
  readonly callable_now: boolean;
}

export interface FamilyState {
  readonly name: Family;
  readonly tool_count: number;
  readonly loaded: boolean;
  readonly tools: readonly string[];
}

/**
 * What the node recalls and thinks with now (reference-mcp-cli §5.4): `semantic` with an embedder that answers, `smart` with a chat model
 * too, `autonomous` with a reranker that answers besides.
 */
export type FeatureTier = 'keyword' | 'semantic' | 'smart' | 'autonomous';

/** The data behind every shape of the report, read from the live node at the time of the call. */
export interface Facts {
  readonly semantic: SemanticState;
  readonly condition: Condition;
  readonly mode: RecallMode;
  readonly reranker: RerankerState;
  readonly tier: FeatureTier;
  /** The chat model of [llm]; null where none is configured. */
  readonly llm: string | null;
  /** Whether a chat model is configured for a feature. */
  readonly asks: (feature: ModelFeature) => boolean;
  readonly embedderLoaded: boolean;
  readonly profile: Profile;
  /** The families that the allowlist lets the caller use. */
  readonly permitted: readonly Family[];
  readonly tools: readonly ToolState[];
  readonly families: readonly FamilyState[];
  /** Whether this node has an operation of that name. */
  readonly has: (tool: string) => boolean;
}

/** Callable in every profile, and not counted as a memory tool. */
export const ALWAYS_ON = 'memory_capabilities';

/** hybrid while the embedder answers, degraded while it fails, keyword_only when it is switched off. */
function recallMode({ enabled, failing }: SemanticState): RecallMode {
  if (!enabled) return 'keyword_only';
  return failing ? 'degraded' : 'hybrid';
}

/** How the node recalls right now. */
export function recallFacts({
  services,
}: ReadCall): Pick<Facts, 'semantic' | 'reranker' | 'mode' | 'tier' | 'llm' | 'asks'> {
  const semantic = services.semantic.state();
  const mode = recallMode(semantic);
  const { models } = services;
  const llm = models.state().models.llm?.model ?? null;
  const asks = (feature: ModelFeature) => models.missing(feature) === null;
  const reranker = services.reranker.state();
  const tier = tierOf(mode, llm !== null, isReranking(reranker));
  return { semantic, reranker, mode, tier, llm, asks };
}

function tierOf(mode: RecallMode, hasModel: boolean, reranks: boolean): FeatureTier {
  if (mode !== 'hybrid') return 'keyword';
  if (!hasModel) return 'semantic';
  return reranks ? 'autonomous' : 'smart';
}

export const permittedFamiliesOf = ({ services, caller }: ReadCall): readonly Family[] =>
  permittedFamilies(services.settings.toolAllowlist, caller.agentId);

export function factsOf(call: ReadCall): Facts {
  const { services, profile } = call;
  const permitted = permittedFamiliesOf(call);
  const recall = recallFacts(call);
  const { semantic } = recall;
  const condition = services.condition();
  const tools = services.catalogue.tools.map(({ name, family }) => {
    const loaded = profile.includes(family) || name === ALWAYS_ON;
    const allowed = permitted.includes(family) || name === ALWAYS_ON;
    return { name, family, loaded, callable_now: loaded && allowed && condition.ready };
  });
  return {
    ...recall,
    condition,
    embedderLoaded: semantic.loaded && !semantic.failing,
    profile,
    permitted,
    tools,
    families: FAMILIES.map((name) => familyState(name, tools)),
    has: (tool) => tools.some(({ name }) => name === tool),
  };
}

function familyState(name: Family, tools: readonly ToolState[]): FamilyState {
  const own = tools.filter(({ family }) => family === name);
  // A family is loaded when the profile offers all of it; the tool that every profile has does not count.
  const loaded = own.length > 0 && own.every((tool) => tool.loaded);
  return { name, tool_count: own.length, loaded, tools: own.map((tool) => tool.name) };
}
