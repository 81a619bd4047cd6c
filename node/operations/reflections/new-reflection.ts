import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import { narrowestScope } from '../../../protocol/lifecycle/consolidation.js';
import type { Memory, MemoryRow, Tier } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import {
  type StoreReflection,
  type StoreReflectionOutcome,
  sourceNotFound,
} from '../../../protocol/reflections/store-reflection.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import { consult, vetoOf } from '../../pipeline/run-hooks.js';
import { observedLink } from '../graph/observed-link.js';
import { callersMetadata } from '../shared/metadata-owner.js';

/** What a reflection says, and of which memories. */
export interface NewReflection {
  /** Ids, or prefixes of them. */
  readonly source_ids: readonly string[];
  readonly title: string;
  readonly content: string;
  /** That of the first source unless given. */
  readonly namespace?: string | undefined;
  readonly tier: Tier;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly confidence: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly entity_id?: string | undefined;
  /** The depth that the caller expects. */
  readonly depth?: number | undefined;
  /** Where the text comes from: `nhi` of an agent, `system` of the node itself. */
  readonly source: 'nhi' | 'system';
}

/**
 * The command for a reflection of this call: NOT_FOUND names sources that the caller does not see, VALIDATION_FAILED says that
 * one is named twice.
 */
export async function reflectionCommand(call: Call, said: NewReflection): Promise<Result<StoreReflection>> {
  const found = await sourcesOf(call, said.source_ids);
  if (!found.ok) return failed(found.error);
  const sources = found.value;
  const memory = reflectionOf(call, said, sources);
  const links = sources.map(({ id: target_id }) =>
    observedLink(call, {
      ...{
        source_id: memory.id,
        target_id,
        relation: 'reflects_on',
        valid_from: call.now,
        valid_until: null,
      },
    }),
  );
  const { viewer } = call.caller;
  const { archiveOnGc: archive } = call.services.settings;
  const again = call.again ? { again: true as const } : {};
  return ok({
    kind: 'store-reflection',
    memory,
    links,
    depth: said.depth ?? null,
    viewer,
    archive,
    ...again,
  });
}

/**
 * Writes a reflection for code of this node, in the name of the caller of the call, as `memory_reflect` does: hooks decide
 * about it and rewrite nothing, and policies, quotas and the depth hold as for every other.
 */
export async function writeReflection(
  call: Call,
  said: NewReflection,
): Promise<Result<StoreReflectionOutcome>> {
  const command = await reflectionCommand(call, said);
  if (!command.ok) return failed(command.error);
  const { hooks, store, clock, log } = call.services;
  const hookRun = { hooks, store, clock, log, agentId: call.caller.agentId, now: call.now, endMs: undefined };
  const { tier, namespace, title, content, tags, priority, confidence, metadata } = command.value.memory;
  const payload = { tier, namespace, title, content, tags, priority, confidence, metadata };
  for (const event of ['pre_reflect', 'pre_store'] as const) {
    if (!hooks.has(event)) continue;
    const verdict = await consult(hookRun, { event, namespace, payload });
    if ('denial' in verdict) return failed(vetoOf(event, verdict.denial));
  }
  return store.execute(command.value);
}

/** The sources as the caller sees them, in their order. */
export async function sourcesOf(
  call: ReadCall,
  given: readonly string[],
): Promise<Result<readonly MemoryRow[]>> {
  const sources = new Map<string, MemoryRow>();
  const missing: string[] = [];
  const { viewer } = call.caller;
  for (const id of given) {
    const found = await call.services.store.query({
      ...{ kind: 'get-memory', id, linksMax: 0, viewer, now: call.now },
    });
    if (found.ok) {
      const { memory } = found.value;
      if (sources.has(memory.id)) {
        const message = `source_ids: ${memory.id} is named twice; name each source once`;
        return fail('VALIDATION_FAILED', message, { fields: ['source_ids'] });
      }
      sources.set(memory.id, memory);
    } else if (found.error.code === 'NOT_FOUND') missing.push(id);
    else return failed(found.error);
  }
  return missing.length === 0 ? ok([...sources.values()]) : sourceNotFound(missing);
}

function reflectionOf(call: Call, said: NewReflection, sources: readonly MemoryRow[]): Memory {
  const { title, content, tier, tags, priority, confidence, source, entity_id: entity } = said;
  const namespace = said.namespace ?? sources[0]!.namespace;
  const seconds = ttlSecondsOf(call.services.settings)[tier];
  const given = callersMetadata(said.metadata);
  const scope = typeof given['scope'] === 'string' ? null : narrowestScope(sources, namespace);
  const about = given['entity_id'] ?? entity;
  return newMemory(call.now, {
    ...{ id: call.services.random.uuid(), kind: 'reflection', namespace, title, content, tier, tags },
    ...{ priority, confidence, source },
    expires_at: seconds === null ? null : instantAfter(call.now, seconds),
    mentioned_entity_id: typeof about === 'string' ? about : null,
    metadata: {
      ...(entity === undefined ? {} : { entity_id: entity }),
      ...given,
      agent_id: call.caller.agentId,
      ...(scope === null ? {} : { scope }),
      attest_level: 'claimed',
    },
  });
}
