import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { listedTools } from '../../../node/bindings/profile.js';
import { toolRow } from '../../../node/bindings/tool-list.js';
import { OPERATIONS } from '../../../node/operations/registry.js';

const rows = (profile: 'core' | 'full') => listedTools(OPERATIONS, profile).map(toolRow);

describe('the tool list', () => {
  it('takes fewer than 1,050 tokens in the core profile', (context) => {
    const tokens = countTokens(JSON.stringify({ tools: rows('core') }));
    context.diagnostic(`core: ${tokens} cl100k tokens`);
    assert.ok(tokens < 1050, `${tokens} tokens`);
  });

  it('shows every argument of a tool but those that this surface omits', () => {
    for (const operation of listedTools(OPERATIONS, 'full')) {
      const { properties } = toolRow(operation).inputSchema;
      const fields = Object.keys(operation.input.shape).filter(
        (field) => operation.mcp?.omit?.includes(field) !== true,
      );
      assert.deepEqual(Object.keys(properties), fields, operation.name);
    }
  });

  it('holds no prose but short descriptions of tools', () => {
    for (const row of rows('full')) {
      assert.ok(row.description.length > 0 && row.description.length <= 32, row.name);
      assert.ok(!JSON.stringify(row.inputSchema).includes('"description"'), row.name);
    }
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
