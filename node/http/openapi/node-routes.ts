import { EVENT_STREAM_TYPE } from '../event-stream.js';
import { JSON_TYPE } from '../exchange.js';
import type { PeerRoute } from '../peer-route.js';
import type { ServiceRoute } from '../service-route.js';
import type { StreamRoute } from '../stream-route.js';
import { AGENT_ID, content, failures } from './common.js';
import type { ComponentSchemas, Json } from './schemas.js';
import { MESH_TAG, NODE_TAG, STREAMS_TAG } from './tags.js';

/** The bare path and the one under the prefix are one route with two ids. */
const idOf = (name: string, index: number) => (index === 0 ? name : `${name}_v1`);

export function describeService(service: ServiceRoute, index: number, schemas: ComponentSchemas): Json {
  const responses: Record<string, unknown> = {};
  for (const [status, { description, contentType, schema }] of Object.entries(service.responses)) {
    const plain = contentType === JSON_TYPE ? { type: 'object' } : { type: 'string' };
    const shape = schema === undefined ? plain : schemas.add(schema.name, schemas.of(schema.of, 'output'));
    responses[status] = { description, content: content(contentType, shape) };
  }
  return {
    operationId: idOf(service.name, index),
    summary: service.summary,
    description: service.summary,
    tags: [NODE_TAG],
    ...(service.open ? { security: [] } : {}),
    responses: { ...responses, ...failures({ keyed: !service.open }) },
  };
}

export function describeStream({ name, summary, description }: StreamRoute, index: number): Json {
  const lastEventId = {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The id of the event that was received last; later ones follow from the log.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  };
  return {
    operationId: idOf(name, index),
    summary,
    description,
    tags: [STREAMS_TAG],
    parameters: [lastEventId, AGENT_ID],
    responses: {
      200: {
        description: 'Server-sent events, without an end',
        content: content(EVENT_STREAM_TYPE, { type: 'string' }),
      },
      ...failures(),
    },
  };
}

/** A message between nodes; its content is not part of the public interface. */
export function describePeer(route: PeerRoute, security: readonly Json[]): Json {
  const params = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: route.name,
    summary: route.summary,
    description: `${route.summary} What it carries is between the nodes of a mesh and not part of this interface.`,
    tags: [MESH_TAG],
    ...(params.length > 0 ? { parameters: params } : {}),
    ...(route.access === 'local' ? {} : { security }),
    ...(route.method === 'POST'
      ? { requestBody: { required: true, content: content(JSON_TYPE, { type: 'object' }) } }
      : {}),
    responses: {
      200: { description: 'Answered', content: content(JSON_TYPE, { type: 'object' }) },
      ...failures({ named: params.length > 0 }),
    },
  };
}
