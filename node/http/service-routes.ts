import { z } from 'zod';
import { listedTools } from '../bindings/profile.js';
import { toolRow } from '../bindings/tool-list.js';
import type { ToolRow } from '../bindings/tool-table.js';
import { permittedFamilies } from '../config/tool-allowlist.js';
import { profileOf } from '../config/tool-profile.js';
import type { Metrics } from '../observability/metrics.js';
import type { Services } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { VERSION } from '../version.js';
import { consoleRoutes } from './console/console-routes.js';
import { docsRoutes } from './docs/docs-routes.js';
import { JSON_TYPE } from './exchange.js';
import type { PeerRoute } from './peer-route.js';
import { SERVICE, type ServiceRoute } from './service-route.js';
import type { StreamRoute } from './stream-route.js';

export interface ServiceRouteOptions {
  readonly services: Services;
  readonly operations: readonly Operation[];
  readonly metrics: Metrics;
  /** Routes that are described together with these. */
  readonly peerRoutes: readonly PeerRoute[];
  readonly streamRoutes: readonly StreamRoute[];
  /** Where MCP is reached; null where it is not offered. */
  readonly mcp: string | null;
}

const HEALTH = {
  name: 'Health',
  of: z.object({
    status: z.enum(['ok', 'error']),
    service: z.literal(SERVICE),
    version: z.string(),
    embedder_ready: z.boolean().describe('True when recall looks for meaning too'),
  }),
};

const TOOLS = {
  name: 'Tools',
  of: z.object({
    tools: z.array(
      z.looseObject({ name: z.string(), description: z.string(), inputSchema: z.looseObject({}) }),
    ),
  }),
};

/** Health, metrics and the API description (interface §4.1). */
export function serviceRoutes(options: ServiceRouteOptions): readonly ServiceRoute[] {
  const routes: readonly ServiceRoute[] = [
    healthRoute(options.services),
    metricsRoute(options),
    toolsRoute(options),
    openApiRoute(options, () => routes),
    ...docsRoutes(),
    ...consoleRoutes(),
  ];
  return routes;
}

function healthRoute(services: Services): ServiceRoute {
  return {
    kind: 'service',
    name: 'health',
    path: '/health',
    summary: 'Say whether the node answers.',
    open: true,
    always: true,
    responses: {
      200: { description: 'The node answers', contentType: JSON_TYPE, schema: HEALTH },
      503: { description: 'The store does not answer', contentType: JSON_TYPE, schema: HEALTH },
    },
    reply: () => {
      const { ready } = services.condition();
      const semantic = services.semantic.state();
      const body = {
        status: ready ? 'ok' : 'error',
        service: SERVICE,
        version: VERSION,
        embedder_ready: semantic.enabled && semantic.loaded && !semantic.failing,
      };
      return { status: ready ? 200 : 503, contentType: JSON_TYPE, body: JSON.stringify(body) };
    },
  };
}

function metricsRoute({ metrics }: ServiceRouteOptions): ServiceRoute {
  return {
    kind: 'service',
    name: 'metrics',
    path: '/metrics',
    summary: 'Metrics in the Prometheus text format.',
    open: false,
    always: true,
    responses: { 200: { description: 'Prometheus text', contentType: 'text/plain' } },
    reply: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.render() }),
  };
}

/** The tools of the daemon's MCP profile that the agent may use, as an MCP server of this node lists them (reference-http §1, row 20). */
function toolsRoute({ services, operations }: ServiceRouteOptions): ServiceRoute {
  const { toolAllowlist, profile } = services.settings;
  const listed = listedTools(operations, profileOf(profile));
  let rows: readonly ToolRow[] | null = null;
  return {
    kind: 'service',
    name: 'tools_list',
    path: '/tools/list',
    summary: 'List the MCP tools of this node.',
    open: false,
    always: false,
    prefixed: true,
    responses: { 200: { description: 'The tools', contentType: JSON_TYPE, schema: TOOLS } },
    reply: (agentId) => {
      rows ??= listed.map(toolRow);
      const permitted = permittedFamilies(toolAllowlist, agentId ?? '');
      const tools = rows.filter((_, index) => permitted.includes(listed[index]!.family));
      return { status: 200, contentType: JSON_TYPE, body: JSON.stringify({ tools }) };
    },
  };
}

function openApiRoute(
  { operations, peerRoutes, streamRoutes, mcp }: ServiceRouteOptions,
  routes: () => readonly ServiceRoute[],
): ServiceRoute {
  let text: string | null = null;
  return {
    kind: 'service',
    name: 'openapi',
    path: '/openapi.json',
    summary: 'This description.',
    open: false,
    always: false,
    responses: { 200: { description: 'OpenAPI 3.1 document', contentType: JSON_TYPE } },
    reply: async () => {
      // It needs the schemas of all operations.
      const { openApiDocument } = await import('./openapi/document.js');
      text ??= JSON.stringify(
        openApiDocument(operations, routes(), peerRoutes, { streams: streamRoutes, mcp }),
      );
      return { status: 200, contentType: JSON_TYPE, body: text };
    },
  };
}
