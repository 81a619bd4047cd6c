import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

const PROJECT = join(import.meta.dirname, '../../..');

interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** Lays out the package as a user has it: the files that it names, and the packages that it depends on at run time. */
function installedPackage(): { readonly folder: string; readonly packages: readonly string[] } {
  const folder = temporaryFolder('l11');
  const read = (file: string) => JSON.parse(readFileSync(join(PROJECT, file), 'utf8'));
  const { files } = read('package.json') as { files: string[] };
  for (const file of ['package.json', ...files])
    cpSync(join(PROJECT, file), join(folder, file), { recursive: true });
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
  const used = Object.entries(packages)
    .filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
    .map(([path]) => path);
  // A nested package comes with the folder of the package that holds it.
  for (const path of used.filter((each) => each.split('node_modules/').length === 2)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(PROJECT, path), join(folder, path));
  }
  return { folder, packages: used };
}

test('the installed package serves MCP without a server framework of the SDK', async () => {
  const { folder, packages } = installedPackage();
  for (const framework of ['@modelcontextprotocol/sdk', 'express', 'hono', 'ajv'])
    assert.ok(!packages.includes(`node_modules/${framework}`), framework);
  const server = new McpProcess({ main: join(folder, 'dist/cli/main.js') });
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  assert.ok((await server.request(1, 'initialize', params)).result !== undefined, server.errors);
  const stored = await server.call(2, 'memory_store', { title: 'kept', content: 'by the installed package' });
  assert.match(textOf(stored), /"title":"kept"/);
  assert.equal(await server.end(), 0);
});
