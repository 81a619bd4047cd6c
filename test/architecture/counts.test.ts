import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NATIVE_COMMANDS } from '../../cli/native-commands.js';
import { TASKS } from '../../cli/tasks.js';
import { profileOf } from '../../node/config/tool-profile.js';
import { type MeshRoutesParts, meshRoutes } from '../../node/mesh/mesh-routes.js';
import { syncRoutes } from '../../node/mesh/receive/sync-routes.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { VERSION } from '../../node/version.js';
import { PROJECT } from './source-files.js';

const manifest = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** The top-level commands of the interface; a group counts once. */
const INTERFACE_COMMANDS: readonly string[] = `
  serve mcp sync-daemon store update recall search get list delete promote forget link resolve consolidate
  auto-consolidate gc stats namespaces reembed undo-edit reown lineage export import sync mine archive backup restore
  offload deref namespace agents pending identity rules governance quota-status init mesh campaign curator atomise
  persona calibrate expand check-duplicate reflect replay recall-observations kg-query find-paths kg-invalidate
  kg-timeline entity-register entity-get-by-alias dependents-of-invalidated reflection-origin ingest-multistep share
  notify inbox subscribe unsubscribe list-subscriptions subscription-replay subscription-dlq-list skill
  export-reflections boot install wrap recover-previous-session logs audit verify-signed-events-chain
  verify-audit-trail verify-reflection-chain export-forensic-bundle verify-forensic-bundle doctor bench config shell
  completions man`
  .trim()
  .split(/\s+/);

/** Commands of the interface beside those, for the other storage. */
const STORAGE_COMMANDS: readonly string[] = ['migrate', 'schema-init'];

describe('counts', () => {
  it('the core profile has exactly the seven tools of the decisions', () => {
    assert.deepEqual(
      OPERATIONS.filter(({ mcp, family }) => mcp !== undefined && profileOf('core').includes(family)).map(
        ({ name }) => name,
      ),
      [
        'memory_store',
        'memory_recall',
        'memory_list',
        'memory_get',
        'memory_search',
        'memory_load_family',
        'memory_smart_load',
      ],
    );
  });

  it('names, routes and commands are unique, and their number is known', (context) => {
    const routes = OPERATIONS.flatMap((operation) => operation.http ?? []).map(
      (binding) => `${binding.method} ${binding.path}`,
    );
    const tools = OPERATIONS.filter((operation) => operation.mcp !== undefined).map(({ name }) => name);
    const commands = OPERATIONS.flatMap((operation) => operation.cli?.command ?? []);
    for (const names of [routes, tools, commands]) assert.equal(new Set(names).size, names.length);
    context.diagnostic(`tools ${tools.length}, routes ${routes.length}, commands ${commands.length}`);
    // The whole surface has 101 tools, 92 registrations and 87 commands; these are the operations declared so far.
    assert.deepEqual([tools.length, routes.length, commands.length], [108, 113, 87]);
  });

  it('of the commands, fourteen are beside the 87 that the interface counts', () => {
    const names = [
      ...Object.keys(NATIVE_COMMANDS),
      ...OPERATIONS.flatMap((operation) => operation.cli?.command ?? []),
    ];
    const tops = new Set(names.map((name) => name.split(' ')[0]!));
    assert.equal(INTERFACE_COMMANDS.length, 87);
    // docs/decisions/surfaces.md, "Commands beside those of the interface", says why.
    assert.deepEqual(
      [...tops].filter((name) => ![...INTERFACE_COMMANDS, ...STORAGE_COMMANDS].includes(name)).sort(),
      [
        'board',
        'encoder',
        'erasure',
        'history',
        'hooks',
        'inbox-read',
        'inbox-watch',
        'jobs',
        'recalls',
        'repair',
        'room',
        'sign',
        'token',
        'uninstall',
      ],
    );
  });

  it('every command has its place in help, by its first word', () => {
    const names = [
      ...Object.keys(NATIVE_COMMANDS),
      ...OPERATIONS.flatMap((operation) => operation.cli?.command ?? []),
    ];
    const placed = TASKS.flatMap(({ often, also }) => [...often, ...also]);
    assert.equal(new Set(placed).size, placed.length, 'each once');
    const tops = [...new Set(names.map((name) => name.split(' ')[0]!))];
    assert.deepEqual(
      tops.filter((name) => !placed.includes(name)),
      [],
      'add it to cli/tasks.ts',
    );
    assert.deepEqual(
      placed.filter((name) => name !== 'help' && !tops.includes(name)),
      [],
    );
  });

  it('the routes between nodes that the interface counts are its two', () => {
    const nobody = { handle: () => Promise.reject(new Error('not called')) };
    assert.deepEqual(
      syncRoutes(nobody).map(({ method, path }) => `${method} ${path}`),
      ['POST /sync/push', 'GET /sync/since'],
    );
  });

  it('the other routes between and about nodes are apart, and their number is known', () => {
    const routes = meshRoutes({} as MeshRoutesParts);
    assert.deepEqual(
      routes.map(({ method, path }) => `${method} ${path}`),
      [
        'POST /mesh/join',
        'POST /mesh/roster',
        'GET /mesh/membership',
        'GET /mesh/whoami',
        'GET /mesh/status',
        'GET /mesh/operations/{id}',
      ],
    );
    // None of them is a tool or an operation, and none takes a path that the interface counts.
    const counted = OPERATIONS.flatMap((operation) => operation.http ?? []).map(({ path }) => path);
    assert.equal(
      routes.some(({ path }) => counted.includes(path)),
      false,
    );
  });

  it("the version is the package's", () => {
    assert.equal(VERSION, manifest.version);
  });

  it('every dependency has its line in docs/dependencies.md', () => {
    const text = readFileSync(join(PROJECT, 'docs/dependencies.md'), 'utf8');
    const missing = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
      (name) => !text.includes(`\`${name}\``),
    );
    assert.deepEqual(missing, []);
  });

  it('the repository names no registry host', () => {
    const lockfile = readFileSync(join(PROJECT, 'package-lock.json'), 'utf8');
    assert.ok(!/https?:\/\/registry/.test(lockfile));
  });
});
