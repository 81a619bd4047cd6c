import { API_PREFIX } from '../../bindings/api-prefix.js';
import type { Operation } from '../../pipeline/operation.js';
import { VERSION } from '../../version.js';
import type { PeerRoute } from '../peer-route.js';
import { pathsOf, SERVICE, type ServiceRoute } from '../service-route.js';
import type { StreamRoute } from '../stream-route.js';
import { COMMON_HEADERS, COMMON_PARAMETERS, COMMON_RESPONSES, COMMON_SCHEMAS } from './common.js';
import { Examples } from './examples.js';
import { describeMcp } from './mcp.js';
import { describePeer, describeService, describeStream } from './node-routes.js';
import { describeOperations } from './operations.js';
import { ComponentSchemas, type Json } from './schemas.js';
import { TAGS } from './tags.js';

const SECURITY: readonly Json[] = [{ apiKey: [] }, { bearer: [] }, {}];

const SECURITY_SCHEMES: Json = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'Needed when the node has an API key.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'The same key as a bearer token.' },
};

type Paths = Record<string, Record<string, Json>>;

interface Others {
  readonly streams?: readonly StreamRoute[];
  /** Where MCP is reached; null where it is not offered. */
  readonly mcp?: string | null;
}

/** The OpenAPI 3.1 description of the whole surface, generated from the declarations that the surface runs on. */
export function openApiDocument(
  operations: readonly Operation[],
  services: readonly ServiceRoute[],
  peers: readonly PeerRoute[],
  { streams = [], mcp = null }: Others = {},
): Json {
  const schemas = new ComponentSchemas();
  for (const [name, schema] of Object.entries(COMMON_SCHEMAS)) schemas.add(name, schema);
  const paths: Paths = {};
  const add = (path: string, method: string, item: Json) => {
    paths[path] = { ...paths[path], [method]: item };
  };
  for (const service of services.filter(({ undescribed }) => undescribed !== true)) {
    pathsOf(service).forEach((path, index) => {
      add(path, 'get', describeService(service, index, schemas));
    });
  }
  for (const stream of streams) {
    pathsOf(stream).forEach((path, index) => {
      add(path, 'get', describeStream(stream, index));
    });
  }
  if (mcp !== null) {
    for (const [method, item] of Object.entries(describeMcp(schemas))) add(mcp, method, item);
  }
  for (const { path, method, item } of describeOperations(operations, schemas)) {
    add(`${API_PREFIX}${path}`, method, item);
  }
  for (const route of peers)
    add(`${API_PREFIX}${route.path}`, route.method.toLowerCase(), describePeer(route, SECURITY));
  const components = schemas.all();
  addExamples(paths, new Examples(components));
  const used = new Set(Object.values(paths).flatMap((item) => Object.values(item).flatMap(tagsOf)));
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE,
      version: VERSION,
      description: 'A memory service for AI agents that runs as a node of a mesh.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: SERVICE },
    },
    servers: [{ url: '/' }],
    security: SECURITY,
    tags: TAGS.filter(({ name }) => used.has(name as string)),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: components,
      responses: COMMON_RESPONSES,
      parameters: COMMON_PARAMETERS,
      headers: COMMON_HEADERS,
    },
  };
}

const tagsOf = ({ tags }: Json) => tags as string[];

interface MediaType {
  readonly schema: Json;
  example?: unknown;
}

type Bodies = { readonly content?: Record<string, MediaType> };

/** Gives each JSON body of each route an example, where it has none of its own. */
function addExamples(paths: Paths, examples: Examples): void {
  for (const item of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const {
      requestBody,
      responses,
      parameters = [],
    } = item as {
      requestBody?: Bodies;
      responses: Record<string, Bodies>;
      parameters?: { name?: string; in: string; schema: Json; example?: unknown }[];
    };
    for (const body of [requestBody, ...Object.values(responses)]) {
      const json = body?.content?.['application/json'];
      if (json !== undefined) json.example ??= examples.of(json.schema);
    }
    for (const parameter of parameters) {
      if (parameter.in === 'path') parameter.example = examples.of(parameter.schema, parameter.name!);
    }
  }
}
