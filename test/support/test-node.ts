import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, type SettingFlags } from '../../node/config/load-settings.js';
import type { Services } from '../../node/pipeline/call.js';
import { openInlineNode } from '../../node/runtime/inline-node.js';
import { onTestStore } from './test-store.js';

/** A node in memory with its home in a fresh folder; keyword mode and silent unless told otherwise. */
export async function openTestNode(
  overrides: SettingFlags = {},
): Promise<{ services: Services; close(): Promise<void> }> {
  const home = mkdtempSync(join(tmpdir(), 'mnemesh-test-'));
  const settings = loadSettings(
    {
      home,
      ...(overrides.storeUrl === undefined ? { dbPath: ':memory:' } : {}),
      embedBackend: 'none',
      logLevel: 'silent',
      // Tests of quotas set their own.
      maxMemoriesPerDay: 1e9,
      maxStorageBytes: 1e12,
      ...overrides,
    },
    { env: {} },
  );
  const node = await openInlineNode(onTestStore(settings), 'mcp');
  return {
    services: node.services,
    async close() {
      await node.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
