import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { listedTools } from '../../../node/bindings/profile.js';
import { toolRow } from '../../../node/bindings/tool-list.js';
import type { PlainSchema } from '../../../node/bindings/tool-table.js';
import { profileOf } from '../../../node/config/tool-profile.js';
import { OPERATIONS } from '../../../node/operations/registry.js';

const rows = (profile: string) => listedTools(OPERATIONS, profileOf(profile)).map(toolRow);

describe('the tool list', () => {
  // Names, descriptions and schemas: what a host hands to its model.
  for (const [profile, most] of [
    ['core', 2500],
    ['full', 14_000],
  ] as const) {
    it(`takes fewer than ${most} tokens in the ${profile} profile`, (context) => {
      const tokens = countTokens(JSON.stringify({ tools: rows(profile) }));
      context.diagnostic(`${profile}: ${tokens} cl100k tokens`);
      assert.ok(tokens < most, `${tokens} tokens`);
    });
  }

  it('shows every argument of a tool but those that this surface omits', () => {
    for (const operation of listedTools(OPERATIONS, profileOf('full'))) {
      const { properties } = toolRow(operation).inputSchema;
      const fields = Object.keys(operation.input.shape).filter(
        (field) => operation.mcp?.omit?.includes(field) !== true,
      );
      assert.deepEqual(Object.keys(properties), fields, operation.name);
    }
  });

  it('says of each tool what it does in one to four sentences, and one line for each argument', () => {
    for (const { name, description, inputSchema } of rows('full')) {
      assert.match(description, /^[A-Z][^\n]{15,320}[.]$/, name);
      assert.ok(description.split(/[.:;?] /).length <= 6, name);
      for (const [field, { description: line }] of Object.entries(inputSchema.properties)) {
        assert.ok(line !== undefined && /^[^\n]{3,240}$/.test(line), `${name}.${field}: ${line}`);
      }
    }
  });

  it('gives every value one type and every choice a word, under names that each host takes', () => {
    const words = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object']);
    const known = ['type', 'description', 'default', 'enum', 'items', 'properties', 'required'];
    const check = (where: string, schema: PlainSchema) => {
      assert.deepEqual(
        Object.keys(schema).filter((key) => !known.includes(key)),
        [],
        where,
      );
      assert.ok(words.has(schema.type), `${where} has the type ${JSON.stringify(schema.type)}`);
      for (const word of schema.enum ?? []) assert.ok(typeof word === 'string' && word !== '', where);
      if (schema.enum !== undefined) assert.ok(schema.enum.length > 0 && schema.type === 'string', where);
      assert.equal(schema.items !== undefined, schema.type === 'array', where);
      if (schema.items !== undefined) check(`${where}[]`, schema.items);
      const members = Object.entries(schema.properties ?? {});
      for (const [name, member] of members) {
        assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/, where);
        check(`${where}.${name}`, member);
      }
      const missing = (schema.required ?? []).filter((name) => members.every(([member]) => member !== name));
      assert.deepEqual(missing, [], where);
    };
    for (const profile of ['core', 'full'] as const) {
      for (const { name, inputSchema } of rows(profile)) {
        assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/);
        check(name, inputSchema);
      }
    }
  });

  it('shows the plain type of what may be null, a list, or a word beside numbers', () => {
    const typeOf = (tool: string, field: string) =>
      rows('full').find(({ name }) => name === tool)?.inputSchema.properties[field];
    assert.equal(typeOf('memory_update', 'expires_at')?.type, 'string');
    assert.equal(typeOf('memory_update', 'expires_at')?.enum, undefined);
    assert.equal(typeOf('memory_update', 'expected_version')?.type, 'integer');
    assert.equal(typeOf('memory_recall', 'tags')?.items?.type, 'string');
    assert.equal(typeOf('memory_namespace_set_standard', 'governance')?.type, 'object');
    assert.equal(typeOf('memory_action_create', 'payload')?.type, 'object');
    assert.equal(typeOf('memory_replay', 'depth')?.type, 'integer');
  });

  it('shows the defaults of this surface', () => {
    const { properties } = rows('core')[1]!.inputSchema as {
      properties: Record<string, { default?: unknown }>;
    };
    assert.equal(properties['format']?.default, 'toon_compact');
    assert.equal(properties['limit']?.default, 10);
  });

  it('gives a tool without arguments an empty object of properties', () => {
    const stats = rows('full').find(({ name }) => name === 'memory_stats');
    assert.deepEqual(stats?.inputSchema, { type: 'object', properties: {} });
  });
});
