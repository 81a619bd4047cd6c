import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { run } from './cli/cli-process.js';
import { McpProcess } from './mcp/mcp-process.js';

/** The routes, tools and commands of finished packages of the interface: each one is there, on a built node. */
const PACKAGES: Readonly<
  Record<
    string,
    {
      readonly routes: readonly string[];
      readonly tools: readonly string[];
      readonly commands: readonly string[];
    }
  >
> = {
  'graph, links, entities': {
    routes: [
      'GET /memories/{id}/lineage',
      'POST /links',
      'DELETE /links',
      'GET /links/{id}',
      'POST /links/verify',
      'GET /kg/timeline',
      'POST /kg/invalidate',
      'POST /kg/query',
      'POST /kg/find_paths',
      'POST /find_paths',
      'POST /entities',
      'GET /entities/by_alias',
      'POST /memory_dependents_of_invalidated',
      'POST /memory_verify',
      'POST /memory_replay',
    ],
    tools: [
      'memory_kg_query',
      'memory_kg_timeline',
      'memory_kg_invalidate',
      'memory_link',
      'memory_get_links',
      'memory_entity_register',
      'memory_entity_get_by_alias',
      'memory_verify',
      'memory_replay',
      'memory_find_paths',
      'memory_lineage',
      'memory_dependents_of_invalidated',
    ],
    commands: [
      'link',
      'lineage',
      'kg-query',
      'find-paths',
      'kg-invalidate',
      'kg-timeline',
      'entity-register',
      'entity-get-by-alias',
      'dependents-of-invalidated',
    ],
  },
  'namespaces, standards, taxonomy': {
    routes: [
      'GET /taxonomy',
      'GET /namespaces',
      'POST /namespaces',
      'DELETE /namespaces',
      'GET /namespaces/{ns}/standard',
      'POST /namespaces/{ns}/standard',
      'DELETE /namespaces/{ns}/standard',
    ],
    tools: [
      'memory_get_taxonomy',
      'memory_namespace_set_standard',
      'memory_namespace_get_standard',
      'memory_namespace_clear_standard',
    ],
    commands: ['namespaces', 'namespace set-standard', 'namespace get-standard', 'namespace clear-standard'],
  },
  'governance, approvals, rules': {
    routes: [
      'GET /pending',
      'POST /pending/{id}/approve',
      'POST /pending/{id}/reject',
      'POST /approvals/{pending_id}',
      'GET /approvals/stream',
      'POST /memory_rule_list',
      'POST /memory_check_agent_action',
    ],
    tools: [
      'memory_pending_list',
      'memory_pending_approve',
      'memory_pending_reject',
      'memory_check_agent_action',
      'memory_rule_list',
    ],
    commands: [
      'pending list',
      'pending approve',
      'pending reject',
      'pending watch',
      'rules add',
      'rules list',
      'rules check',
      'rules enable',
      'rules disable',
      'rules remove',
      'rules keygen',
      'rules sign-seed',
      'governance migrate-to-permissions',
      'governance install-defaults',
      'governance check-action',
    ],
  },
  messages: {
    routes: ['POST /share', 'POST /notify', 'GET /inbox', 'POST /inbox/read', 'GET /inbox/stream'],
    tools: ['memory_notify', 'memory_inbox', 'memory_inbox_read', 'memory_share'],
    commands: ['share', 'notify', 'inbox', 'inbox-read', 'inbox-watch'],
  },
  coordination: {
    routes: ['POST /actions/{id}/transition', 'POST /signals'],
    tools: [
      'memory_action_add_edge',
      'memory_action_create',
      'memory_action_edges',
      'memory_action_frontier',
      'memory_action_get',
      'memory_action_list',
      'memory_action_next',
      'memory_action_transition',
      'memory_checkpoint_create',
      'memory_checkpoint_query',
      'memory_checkpoint_resolve',
      'memory_checkpoint_verify',
      'memory_lease_acquire',
      'memory_lease_get',
      'memory_lease_release',
      'memory_lease_renew',
      'memory_routine_create',
      'memory_routine_freeze',
      'memory_routine_list',
      'memory_routine_run',
      'memory_routine_status',
      'memory_signal_ack',
      'memory_signal_inbox',
      'memory_signal_read',
      'memory_signal_send',
      'memory_signal_thread',
    ],
    commands: ['board'],
  },
  'transcripts and sessions': {
    routes: ['POST /capture_turn', 'POST /session/start'],
    tools: ['memory_capture_turn', 'memory_deref', 'memory_offload', 'memory_session_start'],
    commands: ['mine', 'offload', 'deref', 'replay', 'boot', 'install', 'wrap', 'recover-previous-session'],
  },
  intelligence: {
    routes: [
      'POST /auto_tag',
      'POST /expand_query',
      'POST /memory_reflect',
      'POST /memory_reflection_origin',
      'POST /memory_export_reflection',
      'POST /memory_atomise',
      'POST /memory_calibrate_confidence',
    ],
    tools: [
      'memory_detect_contradiction',
      'memory_auto_tag',
      'memory_expand_query',
      'memory_reflect',
      'memory_reflection_origin',
      'memory_export_reflection',
      'memory_atomise',
      'memory_persona',
      'memory_persona_generate',
      'memory_ingest_multistep',
      'memory_calibrate_confidence',
    ],
    commands: [
      'curator',
      'atomise',
      'persona',
      'calibrate confidence',
      'expand',
      'reflect',
      'reflection-origin',
      'ingest-multistep',
      'export-reflections',
      'verify-reflection-chain',
      'jobs list',
      'jobs show',
      'jobs pause',
      'jobs resume',
      'jobs cancel',
    ],
  },
  skills: {
    routes: [
      'GET /skill/list',
      'POST /skill/register',
      'GET /skill/{id}',
      'GET /skill/{id}/resource',
      'POST /skill/{id}/export',
      'POST /skill/{id}/promote',
      'POST /skill/{id}/compose',
    ],
    tools: [
      'memory_skill_register',
      'memory_skill_list',
      'memory_skill_get',
      'memory_skill_resource',
      'memory_skill_export',
      'memory_skill_promote_from_reflection',
      'memory_skill_compositional_context',
    ],
    commands: [
      'skill register',
      'skill list',
      'skill get',
      'skill resource',
      'skill export',
      'skill promote',
      'skill compose',
    ],
  },
};

describe('finished packages of the interface', { timeout: 180_000 }, () => {
  let daemon: DaemonProcess;
  let mcp: McpProcess;
  let tools: ReadonlySet<string>;
  before(async () => {
    daemon = await startDaemonProcess(temporaryFolder('dispatch'), await freePort());
    mcp = new McpProcess({ home: daemon.home, args: ['--profile', 'full'] });
    await mcp.request('init', 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'dispatch', version: '1' },
    });
    const listed = await mcp.request('tools', 'tools/list', {});
    tools = new Set((listed.result!['tools'] as { name: string }[]).map(({ name }) => name));
  });
  after(async () => {
    await mcp.end();
    await daemon.end('SIGTERM');
  });

  for (const [name, expected] of Object.entries(PACKAGES)) {
    it(`${name}: every route is dispatched`, async () => {
      for (const route of expected.routes) {
        const [method = '', path = ''] = route.split(' ');
        const abort = new AbortController();
        const response = await fetch(`${daemon.base}${path.replaceAll(/\{\w+\}/g, 'x')}`, {
          method,
          headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
          signal: abort.signal,
          ...(method === 'GET' ? {} : { body: '{}' }),
        });
        // A stream has no end, and an answer is enough.
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
        const { code } = isStream ? { code: undefined } : ((await response.json()) as { code?: string });
        abort.abort();
        assert.ok(
          code !== 'ROUTE_NOT_FOUND' && code !== 'METHOD_NOT_ALLOWED' && response.status < 500,
          `${route} answers ${response.status} ${code}`,
        );
      }
    });

    it(`${name}: every tool is listed and called`, async () => {
      for (const tool of expected.tools) {
        assert.ok(tools.has(tool), tool);
        const { error } = await mcp.call(tool, tool, {});
        const message = String((error as { message?: unknown } | undefined)?.message ?? '');
        assert.doesNotMatch(message, /unknown tool/i, tool);
      }
    });

    it(`${name}: every command has its help`, async () => {
      const helped = await Promise.all(
        expected.commands.map((command) => run(daemon.home, [...command.split(' '), '--help'])),
      );
      for (const [at, { code, out }] of helped.entries()) {
        const command = expected.commands[at]!;
        assert.equal(code, 0, command);
        assert.ok(out.includes(`mnemesh ${command}`), `${command}: ${out.slice(0, 200)}`);
      }
    });
  }
});
