import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'smol-toml';
import type { Table } from '../../../node/config/config-table.js';
import { migrateText } from '../../../node/config/migrate-text.js';

const migrated = (text: string) => {
  const { text: after, commentsKept } = migrateText(text, parse(text) as Table)!;
  return { values: JSON.parse(JSON.stringify(parse(after))) as unknown, commentsKept };
};

describe('a configuration in sections', () => {
  for (const [field, section] of [
    ['embed_url', 'embeddings'],
    ['ollama_url', 'llm'],
  ] as const) {
    it(`names the shape of the service that ${field} named by its address alone`, () => {
      const base_url = 'http://127.0.0.1:2';
      assert.deepEqual(migrated(`# mine\n${field} = "${base_url}"\n`), {
        values: { schema_version: 2, [section]: { base_url, backend: 'local-native' } },
        commentsKept: true,
      });
    });

    it(`keeps the backend that [${section}] names beside ${field}`, () => {
      const base_url = 'http://127.0.0.1:2';
      const { values } = migrated(`${field} = "${base_url}"\n[${section}]\nbackend = "compatible"\n`);
      assert.deepEqual(values, { schema_version: 2, [section]: { base_url, backend: 'compatible' } });
    });
  }
});
