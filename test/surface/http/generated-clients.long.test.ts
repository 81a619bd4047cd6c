import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';

/** What others make of the document that a node gives of its API: linters, and clients that are generated. */

const INSTALL_WITHIN_MS = 400_000;
const RUN_WITHIN_MS = 300_000;
const NODE_TOOLS = [
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'orval@7.13.2',
  'typescript@5.9.3',
];
const PYTHON_TOOLS = ['openapi-python-client==0.29.1', 'ruff==0.17.6'];
const API_KEY = 'the-key-of-the-generated-clients';

let daemon: DaemonProcess;
let origin: string;
const folder = temporaryFolder('clients');
const document = join(folder, 'openapi.json');

interface Ran {
  readonly code: number | string;
  readonly said: string;
}

function run(program: string, args: readonly string[], within = RUN_WITHIN_MS): Promise<Ran> {
  const env = {
    ...process.env,
    PATH: `${join(folder, 'venv/bin')}:${process.env['PATH']}`,
    PYTHONPATH: join(folder, 'python'),
    REDOCLY_TELEMETRY: 'off',
    ORIGIN: origin,
    API_KEY,
  };
  return new Promise((resolve) => {
    const options = { cwd: folder, env, timeout: within, maxBuffer: 64 * 1024 * 1024 };
    execFile(program, args, options, (error, out, err) => {
      resolve({ code: error === null ? 0 : (error.code ?? 'ended'), said: `${out}${err}` });
    });
  });
}

async function succeeds(program: string, ...args: readonly string[]): Promise<string> {
  const { code, said } = await run(program, args);
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${said.slice(-6000)}`);
  return said;
}

const tool = (name: string) => join(folder, 'node_modules/.bin', name);
const skipped = { node: '', python: '' };

before(
  async () => {
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    daemon = await startDaemonProcess(temporaryFolder('clients-home'), port, { SVC_API_KEY: API_KEY });
    const described = await fetch(`${origin}/openapi.json`, { headers: { 'x-api-key': API_KEY } });
    writeFileSync(document, await described.text());
    writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
    const npm = await run(
      'npm',
      ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...NODE_TOOLS],
      INSTALL_WITHIN_MS,
    );
    if (npm.code !== 0) skipped.node = `the tools cannot be installed here: ${npm.said.slice(-300)}`;
    const venv = await run('python3', ['-m', 'venv', 'venv'], INSTALL_WITHIN_MS);
    const pip = await run(
      join(folder, 'venv/bin/pip'),
      ['install', '--quiet', '--retries', '1', ...PYTHON_TOOLS],
      INSTALL_WITHIN_MS,
    );
    if (venv.code !== 0 || pip.code !== 0)
      skipped.python = `the generator cannot be installed here: ${venv.said}${pip.said}`.slice(-300);
  },
  { timeout: 3 * INSTALL_WITHIN_MS },
);
after(() => daemon.end('SIGTERM'));

test('two linters have nothing to say', { timeout: RUN_WITHIN_MS }, async (context) => {
  if (skipped.node !== '') return context.skip(skipped.node);
  const redocly = await succeeds(tool('redocly'), 'lint', document, '--format=json');
  const { totals } = JSON.parse(redocly.slice(redocly.indexOf('{'), redocly.lastIndexOf('}') + 1)) as {
    totals: Record<string, number>;
  };
  assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
  writeFileSync(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
  await succeeds(tool('spectral'), 'lint', document, '--fail-severity=hint');
});

const COMPILE = ['--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2022,dom'];
const compile = (file: string) =>
  succeeds(tool('tsc'), ...COMPILE, '--module', 'nodenext', '--moduleResolution', 'nodenext', file);

const FETCH_PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';
declare const process: { env: Record<string, string> };
const client = createClient<paths>({
  baseUrl: process.env['ORIGIN']!,
  headers: { 'x-api-key': process.env['API_KEY']!, 'x-agent-id': 'ai:fetch' },
});
const check = (holds: boolean, what: string) => { if (!holds) throw new Error(what); };
const title = 'A deploy of openapi-fetch';
const stored = await client.POST('/api/v1/memories', { body: { title, content: 'On Sundays, at night.', namespace: 'clients' } });
check(stored.response.status === 201, 'stored');
const { id } = stored.data as components['schemas']['MemoryStoreAnswer'];
const found = await client.GET('/api/v1/recall', { params: { query: { context: 'deploy at night', namespace: 'clients' } } });
const { memories } = found.data as components['schemas']['MemoryRecallAnswer'];
check(memories.some((one) => one.id === id), 'recalled');
const path = { id };
const stale = await client.PUT('/api/v1/memories/{id}', { params: { path, header: { 'if-match': '"7"' } }, body: { content: 'x' } });
check(stale.error?.code === 'VERSION_CONFLICT', 'stale: ' + JSON.stringify(stale.error));
const changed = await client.PUT('/api/v1/memories/{id}', { params: { path, header: { 'if-match': '"1"' } }, body: { content: 'On Saturdays.' } });
check((changed.data as components['schemas']['Memory']).content === 'On Saturdays.', 'changed');
const gone = await client.DELETE('/api/v1/memories/{id}', { params: { path } });
check(gone.response.status === 200, 'deleted');
console.log('round trip');
`;

test('openapi-typescript makes types that a client compiles and works with', {
  timeout: RUN_WITHIN_MS,
}, async (context) => {
  if (skipped.node !== '') return context.skip(skipped.node);
  await succeeds(tool('openapi-typescript'), document, '-o', 'api.ts');
  writeFileSync(join(folder, 'fetch-client.ts'), FETCH_PROGRAM);
  await compile('fetch-client.ts');
  assert.match(await succeeds(process.execPath, 'fetch-client.js'), /round trip/);
});

const ORVAL_PROGRAM = `
import { memoryDelete, memoryRecall, memoryStore, memoryUpdate } from './orval.js';
declare const process: { env: Record<string, string> };
const headers = { 'x-api-key': process.env['API_KEY']!, 'x-agent-id': 'ai:orval' };
const check = (holds: boolean, what: string) => { if (!holds) throw new Error(what); };
const stored = await memoryStore({ title: 'A deploy of orval', content: 'On Sundays, at night.', namespace: 'clients' }, { headers });
if (stored.status !== 201) throw new Error('stored');
const { id } = stored.data;
const found = await memoryRecall({ context: 'deploy at night', namespace: 'clients' }, { headers });
if (found.status !== 200 || typeof found.data === 'string') throw new Error('recalled');
check(found.data.memories.some((one) => one.id === id), 'found');
const stale = await memoryUpdate(id, { content: 'x' }, { headers: { ...headers, 'if-match': '"7"' } });
check((stale.status as number) >= 400, 'stale');
const changed = await memoryUpdate(id, { content: 'On Saturdays.' }, { headers: { ...headers, 'if-match': '"1"' } });
if (changed.status !== 200) throw new Error('changed');
check(changed.data.content === 'On Saturdays.', 'content');
const gone = await memoryDelete(id, { headers });
check(gone.status === 200, 'deleted');
console.log('round trip');
`;

test('orval makes a client that compiles and works', { timeout: RUN_WITHIN_MS }, async (context) => {
  if (skipped.node !== '') return context.skip(skipped.node);
  const output = { target: './orval.ts', client: 'fetch', mode: 'single', baseUrl: origin };
  const config = { mnemesh: { input: document, output } };
  writeFileSync(join(folder, 'orval.config.cjs'), `module.exports = ${JSON.stringify(config)};`);
  await succeeds(tool('orval'), '--config', 'orval.config.cjs');
  writeFileSync(join(folder, 'orval-client.ts'), ORVAL_PROGRAM);
  await compile('orval-client.ts');
  assert.match(await succeeds(process.execPath, 'orval-client.js'), /round trip/);
});

const PYTHON_PROGRAM = `
import os
from mnemesh_client import Client
from mnemesh_client.api.core import memory_recall, memory_store
from mnemesh_client.api.lifecycle import memory_delete, memory_update
from mnemesh_client.models import Error, Memory, MemoryStoreInput, MemoryUpdateInput

client = Client(base_url=os.environ["ORIGIN"], headers={"x-api-key": os.environ["API_KEY"]}, raise_on_unexpected_status=True)
body = MemoryStoreInput(title="A deploy of Python", content="On Sundays, at night.", namespace="clients")
stored = memory_store.sync_detailed(client=client, body=body, x_agent_id="ai:python")
assert stored.status_code == 201, stored
found = memory_recall.sync(client=client, context="deploy at night", namespace="clients", x_agent_id="ai:python")
assert any(one.id == stored.parsed.id for one in found.memories), found
stale = memory_update.sync(stored.parsed.id, client=client, body=MemoryUpdateInput(content="x"), if_match='"7"', x_agent_id="ai:python")
assert isinstance(stale, Error) and stale.code == "VERSION_CONFLICT", stale
changed = memory_update.sync(stored.parsed.id, client=client, body=MemoryUpdateInput(content="On Saturdays."), if_match='"1"', x_agent_id="ai:python")
assert isinstance(changed, Memory) and changed.content == "On Saturdays.", changed
gone = memory_delete.sync_detailed(stored.parsed.id, client=client, x_agent_id="ai:python")
assert gone.status_code == 200, gone
print("round trip")
`;

test('a Python generator makes a client that compiles and works', {
  timeout: RUN_WITHIN_MS,
}, async (context) => {
  if (skipped.python !== '') return context.skip(skipped.python);
  const python = join(folder, 'venv/bin/python');
  const generator = join(folder, 'venv/bin/openapi-python-client');
  const said = await succeeds(
    generator,
    'generate',
    '--path',
    document,
    '--output-path',
    'python',
    '--fail-on-warning',
  );
  assert.ok(existsSync(join(folder, 'python/mnemesh_client')), said);
  await succeeds(python, '-m', 'compileall', '-q', 'python');
  mkdirSync(join(folder, 'programs'), { recursive: true });
  writeFileSync(join(folder, 'programs/client.py'), PYTHON_PROGRAM);
  assert.match(await succeeds(python, 'programs/client.py'), /round trip/);
});
