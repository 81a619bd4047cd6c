import { HOOK_EVENT_NAMES, UNFIRED_EVENTS } from '../../../../protocol/hooks/events.js';
import { HALF_LIFE_DAYS, TIER_FLOORS } from '../../../../protocol/memory/confidence.js';
import { KINDS } from '../../../../protocol/memory/memory.js';
import { WEBHOOK_EVENTS } from '../../../../protocol/webhooks/event-types.js';
import type { Settings } from '../../../config/settings.js';
import { isReranking } from '../../../semantics/reranker/reranker.js';
import { VERSION } from '../../../version.js';
import type { Facts } from './facts.js';
import type { RuntimeCounters } from './runtime-counters.js';

const NONE = 'none';

/** A feature with its own operation: planned until the operation exists. */
const planned = (exists: boolean) => ({
  planned: !exists,
  version: exists ? VERSION : null,
  enabled: exists,
});

export function models({ semantic, llm, reranker }: Pick<Facts, 'semantic' | 'llm' | 'reranker'>) {
  return {
    embedding: semantic.enabled ? semantic.model : NONE,
    embedding_dim: semantic.enabled ? semantic.dim : 0,
    llm: llm ?? NONE,
    cross_encoder: reranker.model ?? NONE,
  };
}

/** The flags that v1 and v2 share; `memory_reflection` differs. */
export function featureFlags({ mode, reranker, embedderLoaded, has, asks }: Facts) {
  return {
    keyword_search: true,
    semantic_search: mode === 'hybrid',
    hybrid_recall: mode === 'hybrid',
    query_expansion: asks('expand_query') && has('memory_expand_query'),
    auto_consolidation: asks('consolidate') && has('memory_consolidate'),
    auto_tagging: asks('auto_tag') && has('memory_auto_tag'),
    contradiction_analysis: asks('detect_contradiction') && has('memory_detect_contradiction'),
    cross_encoder_reranking: isReranking(reranker),
    memory_reflection: has('memory_reflect'),
    embedder_loaded: embedderLoaded,
  };
}

export const rerankerActive = ({ reranker }: Facts): string => (isReranking(reranker) ? 'neural' : 'off');

export function features(facts: Facts) {
  return {
    ...featureFlags(facts),
    memory_reflection: planned(facts.has('memory_reflect')),
    recall_mode_active: facts.mode,
    reranker_active: rerankerActive(facts),
    // The ranking has no boost for reflections: a factor of 1 at every depth.
    reflection_boost: { boost: 1, per_depth_increment: 0, max_depth_cap: 0 },
  };
}

/** The sections that v2 adds (reference-http §6). */
export function sections(
  { has, families }: Facts,
  counters: RuntimeCounters,
  { permissionsMode, curatorEnabled, curatorIntervalSeconds }: Settings,
) {
  return {
    permissions: {
      mode: permissionsMode,
      active_rules: counters.active_rule_count,
      rule_summary: [...counters.rule_summary],
    },
    hooks: {
      registered_count: counters.registered_hooks,
      webhook_events: has('memory_subscribe') ? [...WEBHOOK_EVENTS] : [],
      // Of the events that a hook may name, those that this node fires.
      hook_events_count: HOOK_EVENT_NAMES.filter((name) => UNFIRED_EVENTS[name] === undefined).length,
    },
    compaction: {
      ...planned(true),
      enabled: curatorEnabled,
      interval_minutes: Math.round(curatorIntervalSeconds / 60),
    },
    approval: {
      pending_requests: counters.pending_requests,
      deferred_audit_dlq_size: counters.dlq_depth,
    },
    transcripts: planned(has('memory_replay')),
    hnsw: { evictions_total: counters.hnsw_evictions, evicted_recently: counters.hnsw_evictions > 0 },
    ...(has('memory_kg_query') ? { kg_backend: 'cte' } : {}),
    memory_kinds: [...KINDS],
    families: {
      schema_version: 'v0.6.4-families-1',
      always_on: ['memory_capabilities'],
      families: families.map((family) => ({ ...family, tools: [...family.tools] })),
    },
  };
}

/** Replication as it is now. A separate process does not know: the daemon replicates what it writes. */
export function federation({ condition }: Facts) {
  const { federation: live } = condition;
  return { implemented: true, live: live !== undefined, ...(live ?? {}) };
}

/** The sections that v3 adds (reference-http §6, reference-mcp-cli §5.4). */
export function substrate({ has, tools }: Facts, settings: Settings) {
  const skills = tools.filter(({ name }) => name.startsWith('memory_skill_')).map(({ name }) => name);
  const atomises = has('memory_atomise');
  return {
    reflection: {
      implemented: has('memory_reflect'),
      depth_bounded: has('memory_reflect'),
      max_default: has('memory_reflect') ? 3 : 0,
      attestation: 'Ed25519',
      curator_mode: true,
    },
    skills: {
      implemented: skills.length > 0,
      standard: 'SKILL.md',
      tools: skills,
      round_trip: skills.length > 0,
    },
    forensic: {
      verify_reflection_chain: true,
      export_forensic_bundle: false,
      verify_forensic_bundle: false,
    },
    governance: {
      rules_engine: has('memory_rule_list'),
      // The service enforces rules about its own writes only; the others bind harnesses that ask.
      enforced_actions: has('memory_rule_list') ? ['memory_write'] : [],
      bypass_impossibility_tests: false,
      // With a key of the operator, rules count that it signed, and no others.
      l1_6_attest: settings.operatorPubkey !== null,
      agent_action_check: has('memory_check_agent_action'),
      rules_immutable_seed: false,
    },
    atomisation: {
      tool: atomises,
      cli: atomises,
      auto: atomises,
      recall_preference: atomises,
      forensic: false,
      curator: false,
      link_relation: 'derives_from',
    },
    memory_kind_vocab: {
      vocabulary: [...KINDS],
      recall_filter: true,
      cli_filter: true,
      auto_classify: true,
      auto_classify_modes: ['off', 'regex_only'],
    },
    confidence_calibration: {
      auto_derive: settings.autoConfidence,
      shadow_mode: settings.confidenceShadow,
      freshness_decay: settings.confidenceDecay,
      calibration_cli: has('memory_calibrate_confidence'),
      calibration_tool: has('memory_calibrate_confidence'),
      signals_schema: 'v1',
      default_half_life_days: HALF_LIFE_DAYS,
      tier_thresholds: { ...TIER_FLOORS },
    },
    provenance_substrate_layer: {
      posture: 'every replicated write appends one hash-chained operation to the log, in its own transaction',
      summary:
        'rows can be recomputed from the log; attested rows carry an Ed25519 signature of their writer',
      enforcement_layers: ['operation log', 'write envelope signature', 'visibility gate'],
      honest_limitations: ['an unsigned agent id is claimed, not proven'],
      spec_references: {},
    },
  };
}
