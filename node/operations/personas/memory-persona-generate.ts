import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { narrowestScope } from '../../../protocol/lifecycle/consolidation.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import {
  PERSONA_PRIORITY,
  PERSONA_SOURCES_MAX,
  type PersonaMetadata,
  personaEnvelopeBytes,
  personaOf,
  personaTitle,
} from '../../../protocol/personas/persona.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { Call } from '../../pipeline/call.js';
import { consulted } from '../../pipeline/consulted.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { observedLink } from '../graph/observed-link.js';
import { readMemory } from '../shared/resolve-id.js';
import { personaOutput } from './memory-persona.js';
import { personaBody, personaQuestion } from './persona-question.js';

const output = z.object({
  persona: personaOutput,
  regenerated: z.literal(true),
  namespace_scope: z.enum(['single', 'cross_namespace']),
});

/** Where a persona lies that was written of reflections of every namespace. */
const HOME = 'global';

/** Has a chat model write the next persona of an entity (interface §4.14, reference-mcp-cli §6.2). Each call makes a new version. */
export const memoryPersonaGenerate = defineOperation({
  name: 'memory_persona_generate',
  family: 'power',
  summary: 'Have a chat model write the next persona of an entity from the reflections about it.',
  input: z.object({
    entity_id: fields.entityId,
    namespace: fields.namespace
      .nullish()
      .describe(
        'Only reflections of this namespace; those of all namespaces unless given, for a persona in "global"',
      ),
  }),
  output,
  effect: 'write',
  openWorld: true,
  guards: { attestation: 'by-name' },
  repeatable: true,
  storesKeyed: true,
  mcp: { description: 'Have a chat model write a new persona of an entity from the reflections about it.' },
  run: async (call, { entity_id: entityId, namespace }) => {
    const written = await writePersona(call, entityId, namespace ?? null);
    if (!written.ok) return failed(written.error);
    const persona = personaOf(written.value, call.services.crypto);
    return ok({
      persona: { ...persona, sources: [...persona.sources] },
      regenerated: true as const,
      namespace_scope: typeof namespace === 'string' ? ('single' as const) : ('cross_namespace' as const),
    });
  },
});

/** How often a persona takes the next version after another one came first. */
const ATTEMPTS_MAX = 3;

/** Writes a persona of the reflections that the caller sees. NO_REFLECTIONS without any; LLM_* when the model writes none. */
export async function writePersona(
  call: Call,
  entityId: string,
  namespace: string | null,
): Promise<Result<Memory>> {
  const missing = call.services.models.missing('persona');
  if (missing !== null) return failed(missing);
  const { random, store } = call.services;
  const id = random.uuid();
  if (call.again) {
    const before = await readMemory(call, id);
    if (before.ok) return ok(before.value);
  }
  const found = await sourcesOf(call, entityId, namespace);
  if (!found.ok) return failed(found.error);
  const { reflections } = found.value;
  const asked = await askModel(call, personaQuestion(reflections));
  if (!asked.ok) return failed(asked.error);
  const text = personaBody(asked.value, reflections);
  const links = reflections.map(({ id: target_id }) =>
    observedLink(call, {
      ...{ source_id: id, target_id, relation: 'derived_from', valid_from: call.now, valid_until: null },
    }),
  );
  let version = found.value.version + 1;
  for (let attempt = 1; ; attempt += 1) {
    const memory = personaRow(call, {
      id,
      entityId,
      namespace: namespace ?? HOME,
      version,
      text,
      reflections,
    });
    const { title, content, tier, tags } = memory;
    const payload = { tier, namespace: memory.namespace, title, content, tags, entity_id: entityId };
    const denial = await consulted(call, 'pre_store', { namespace: memory.namespace, payload });
    if (denial !== null) return failed(denial);
    const stored = await store.execute({
      ...{ kind: 'store-persona', memory, links, viewer: call.caller.viewer },
      archive: call.services.settings.archiveOnGc,
      ...(call.again ? { again: true as const } : {}),
    });
    if (stored.ok) return ok(stored.value.stored);
    if (stored.error.code !== 'VERSION_CONFLICT' || attempt === ATTEMPTS_MAX) return failed(stored.error);
    const again = await sourcesOf(call, entityId, namespace);
    if (!again.ok) return failed(again.error);
    version = again.value.version + 1;
  }
}

async function sourcesOf(call: Call, entityId: string, namespace: string | null) {
  const found = await call.services.store.query({
    ...{ kind: 'persona-sources', entityId, namespace, home: namespace ?? HOME, limit: PERSONA_SOURCES_MAX },
    ...{ viewer: call.caller.viewer, now: call.now },
  });
  if (!found.ok) return failed(found.error);
  if (found.value.reflections.length > 0) return ok(found.value);
  const where = namespace ?? '<any namespace>';
  return fail('NO_REFLECTIONS', `NoReflections: no reflection about "${entityId}" in ${where}`, {
    ...{ entity_id: entityId, namespace: where },
  });
}

interface NewPersona {
  readonly id: string;
  readonly entityId: string;
  readonly namespace: string;
  readonly version: number;
  readonly text: string;
  readonly reflections: readonly MemoryRow[];
}

function personaRow(call: Call, { id, entityId, namespace, version, text, reflections }: NewPersona): Memory {
  const { machineKey, crypto } = call.services;
  const sources = reflections.map((reflection) => reflection.id);
  const stated = {
    id,
    entity_id: entityId,
    namespace,
    body_md: text,
    sources,
    generated_at: call.now,
    version,
  };
  const persona: PersonaMetadata = {
    ...{ entity_id: entityId, sources, version, generated_at: call.now },
    ...(machineKey === null
      ? { attest_level: 'unsigned' }
      : {
          attest_level: 'self_signed',
          signature: base64(machineKey.sign(personaEnvelopeBytes(stated, crypto))),
          public_key: base64(machineKey.publicKey),
        }),
  };
  const scope = narrowestScope(reflections, namespace);
  return newMemory(call.now, {
    ...{
      id,
      kind: 'persona',
      namespace,
      title: personaTitle(entityId, version),
      content: text,
      tier: 'long',
    },
    ...{ tags: ['persona'], priority: PERSONA_PRIORITY, source: 'curator' },
    ...{ entity_id: entityId, persona_version: version },
    metadata: {
      ...{ agent_id: call.caller.agentId, persona, attest_level: 'claimed' },
      ...(scope === null ? {} : { scope }),
    },
  });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
