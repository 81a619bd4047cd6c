import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { operationRoutes } from '../../../node/bindings/operation-route.js';
import { Router } from '../../../node/http/router.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { ENDPOINT_ROWS, type Shape } from './endpoint-rows.js';

function shapeProblem(value: unknown, shape: Shape, at = 'the answer'): string | null {
  if (typeof shape === 'string') {
    const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    return type === shape ? null : `${at} is ${type}, not ${shape}`;
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return `${at} is no list`;
    const [member] = shape as readonly [Shape];
    for (const [index, item] of value.entries()) {
      const problem = shapeProblem(item, member, `${at}[${index}]`);
      if (problem !== null) return problem;
    }
    return null;
  }
  if (typeof value !== 'object' || value === null) return `${at} is no object`;
  for (const [key, member] of Object.entries(shape)) {
    const name = key.replace(/\?$/, '');
    const found = (value as Record<string, unknown>)[name];
    if (found === undefined && key.endsWith('?')) continue;
    const problem = shapeProblem(found, member, `${at}.${name}`);
    if (problem !== null) return problem;
  }
  return null;
}

describe('the endpoint tables of the interface', () => {
  const ids = new Map<string, string>();
  const filled = (text: string) => text.replace(/\{(\w)\}/g, (_, name: string) => ids.get(name) ?? 'missing');
  let daemon: DaemonProcess;
  before(async () => {
    daemon = await startDaemonProcess(temporaryFolder('endpoints'), await freePort(), {
      SVC_ADMIN_AGENT_IDS: 'ai:root',
      SVC_ADMIN_HEADER_TRUST: '1',
    });
  });
  after(() => daemon.end('SIGTERM'));

  it('has a success and a refusal of every route that takes input', () => {
    const routes = new Router<string>();
    const covered = new Map<string, Set<'success' | 'refusal'>>();
    for (const { operation, binding } of operationRoutes(OPERATIONS)) {
      const route = `${binding.method} ${binding.path}`;
      routes.add(binding.method, binding.path, route);
      const takes = Object.keys(operation.input.shape).some((field) => !binding.omit?.includes(field));
      const needs =
        takes || operation.guards.admin === true ? (['success', 'refusal'] as const) : (['success'] as const);
      covered.set(route, new Set(needs));
    }
    // Its success needs the embedder: test/node/runtime/check-duplicate.test.ts.
    covered.get('POST /check_duplicate')?.delete('success');
    // Their success needs a model: test/intelligence.
    for (const path of ['/auto_tag', '/expand_query', '/memory_atomise'])
      covered.get(`POST ${path}`)?.delete('success');
    // Its success needs an action, which tools make: test/coordination/action-tools.test.ts.
    covered.get('POST /actions/{id}/transition')?.delete('success');
    // Its success needs a signature: test/surface/governance/approval-signature.test.ts.
    covered.get('POST /approvals/{pending_id}')?.delete('success');
    // Its success needs a reflection with a depth: test/skills/promote-compose.test.ts.
    covered.get('POST /skill/{reflection_id}/promote')?.delete('success');
    // Its success needs a file: test/skills/round-trip.test.ts.
    covered.get('GET /skill/{skill_id}/resource')?.delete('success');
    // Its success needs a conflict: test/surface/http/conflicts.test.ts.
    covered.get('POST /conflicts/take')?.delete('success');
    // Its success needs a hook that asks: test/surface/hooks.test.ts.
    covered.get('POST /hooks/questions/{id}')?.delete('success');
    // Its success needs an API key: test/delegation/tokens.test.ts.
    covered.get('POST /tokens')?.delete('success');
    for (const { method, path, status } of ENDPOINT_ROWS) {
      const found = routes.find(method, path.split('?')[0]!.replace(/\{\w+\}/g, 'x'));
      if (found.kind === 'route') covered.get(found.route)?.delete(status < 400 ? 'success' : 'refusal');
    }
    assert.deepEqual(
      [...covered].filter(([, missing]) => missing.size > 0).map(([route, missing]) => [route, [...missing]]),
      [],
    );
  });

  for (const row of ENDPOINT_ROWS) {
    const { section, what, method, path, as = 'ai:alice' } = row;
    it(`§${section} ${method} ${path.split('?')[0]}: ${what}`, async () => {
      const { origin } = new URL(daemon.base);
      const response = await fetch(`${row.bare === true ? origin : daemon.base}${filled(path)}`, {
        method,
        headers: {
          ...(row.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(as === null ? {} : { 'x-agent-id': as }),
          ...row.headers,
        },
        ...(row.body === undefined ? {} : { body: filled(JSON.stringify(row.body)) }),
      });
      const text = await response.text();
      assert.equal(response.status, row.status, text);
      if (row.shape === 'text') {
        assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
        return;
      }
      assert.equal(response.headers.get('content-type'), 'application/json');
      const body = JSON.parse(text) as Record<string, unknown>;
      if (row.status >= 400) {
        assert.equal(typeof body['error'], 'string');
        assert.equal(typeof body['code'], 'string');
      }
      if (row.code !== undefined) assert.equal(body['code'], row.code, text);
      if (row.shape !== undefined) assert.equal(shapeProblem(body, row.shape), null, text);
      for (const [key, value] of Object.entries(row.holds ?? {}))
        assert.deepEqual(body[key], value, `${key}: ${text}`);
      if (row.keep !== undefined) ids.set(row.keep, String(body['id'] ?? body['pending_id']));
    });
  }
});
