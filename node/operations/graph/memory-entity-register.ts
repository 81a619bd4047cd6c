import { z } from 'zod';
import { isBlank } from '../../../protocol/base/ids.js';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { excerpt } from '../../../protocol/base/utf8.js';
import { ENTITY_TAG, foldedAlias } from '../../../protocol/memory/entity.js';
import { newMemory } from '../../../protocol/memory/new-memory.js';
import type { RegisterEntity } from '../../../protocol/namespaces/register-entity.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { derivedId } from '../shared/derived-id.js';
import { alias, canonicalName, entityOutput } from './entity-fields.js';

const input = z.object({
  canonical_name: canonicalName.describe('Name of the entity, unique in its namespace'),
  namespace: fields.namespace,
  aliases: z
    .array(z.string())
    .max(limits.ENTITY_ALIASES_MAX)
    // Blank ones are skipped, as in the reference.
    .transform((names) => names.filter((name) => !isBlank(name)))
    .pipe(z.array(alias))
    .default([])
    .describe('Other names of the entity; the canonical name is one by itself'),
  metadata: fields.metadata.default({}).describe('Metadata of a new entity; a known one keeps its own'),
  agent_id: fields.agentId.optional(),
});

type Input = z.output<typeof input>;

/** Registers an entity, or adds aliases to one (interface §2.3, §4.6: POST /entities). */
export const memoryEntityRegister = defineOperation({
  name: 'memory_entity_register',
  family: 'graph',
  summary: 'Register an entity by its name, or add aliases to one.',
  input,
  output: entityOutput.extend({ created: z.boolean() }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  http: [
    {
      method: 'POST',
      path: '/entities',
      fields: 'body',
      status: { among: [200, 201], of: ({ created }) => (created === true ? 201 : 200) },
    },
  ],
  mcp: {
    description:
      'Register an entity (person, company, thing) by its name, also called aliases; or add names to one.',
  },
  cli: {
    command: 'entity-register',
    short: { n: 'namespace' },
    view: 'message',
    message: ({ entity_id, canonical_name, created }) =>
      `${created === true ? 'registered' : 'known'}: ${canonical_name} (${entity_id})`,
    examples: [
      'entity-register --canonical-name "Ada Lovelace" --namespace people --aliases Ada,"Countess Lovelace"',
    ],
  },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_store',
        firings: ({ canonical_name: title, namespace, aliases, metadata }: Input) => [
          {
            namespace,
            payload: { title, namespace, content: textOf(title, aliases), tags: [ENTITY_TAG], metadata },
          },
        ],
        // The text and the tag of an entity follow from its names.
        apply: (asked, { title, namespace, metadata }) => ({
          ...asked,
          ...(title === undefined ? {} : { canonical_name: title }),
          ...(namespace === undefined ? {} : { namespace }),
          ...(metadata === undefined ? {} : { metadata }),
        }),
      },
    ],
  }),
  run: async (call, given) => {
    const command = registration(call, given);
    if (!command.ok) return failed(command.error);
    const result = await call.services.store.execute(command.value);
    if (!result.ok) return failed(result.error);
    const { entity, created } = result.value;
    return ok({ ...entity, aliases: [...entity.aliases], created });
  },
});

/** The text of a new entity, so that a recall finds it by its other names too. */
function textOf(name: string, aliases: readonly string[]): string {
  const others = new Map(aliases.map((other) => [foldedAlias(other), other]));
  others.delete(foldedAlias(name));
  if (others.size === 0) return name;
  return excerpt(`${name}, also known as ${[...others.values()].join(', ')}`, limits.CONTENT_BYTES_MAX);
}

function registration(call: Call, given: Input): Result<RegisterEntity> {
  const { canonical_name: name, namespace, aliases } = given;
  const { agentId, viewer } = call.caller;
  const { agent_id: claimed, ...rest } = given.metadata;
  if ((claimed ?? agentId) !== agentId) {
    const message = 'metadata.agent_id does not match the authenticated caller';
    return fail(call.surface === 'http' ? 'agent_id_body_header_mismatch' : 'FORBIDDEN', message);
  }
  // Metadata cannot set the members that the service decides.
  const { attest_level: _level, attested_by: _by, imported_from_agent_id: _from, ...metadata } = rest;
  const { random, settings } = call.services;
  const place = `${namespace}\n${foldedAlias(name)}`;
  const derived = Array.from({ length: limits.ENTITY_IDS_DERIVED }, (_, index) =>
    derivedId(call, `entity/${index}/${place}`),
  );
  const memory = newMemory(call.now, {
    id: derived[0]!,
    tier: 'long',
    namespace,
    title: name,
    content: textOf(name, aliases),
    tags: [ENTITY_TAG],
    source: 'system',
    metadata: { ...metadata, agent_id: agentId, attest_level: 'claimed' },
    kind: 'entity',
  });
  return ok({
    kind: 'register-entity',
    memory,
    ids: [...derived, random.uuid()],
    aliases,
    viewer,
    archive: settings.archiveOnGc,
  });
}
