import { EVENT_STREAM_TYPE } from '../event-stream.js';
import { JSON_TYPE } from '../exchange.js';
import { AGENT_ID, content, failures } from './common.js';
import type { ComponentSchemas, Json } from './schemas.js';
import { MCP_TAG } from './tags.js';

/** MCP over HTTP: what HTTP itself carries of it. The messages within are those of the protocol. */

const MESSAGE: Json = {
  type: 'object',
  description:
    'A message of JSON-RPC: a request has an id and a method, a notification a method alone, an answer an id with its result or its error.',
  required: ['jsonrpc'],
  properties: {
    jsonrpc: { type: 'string', enum: ['2.0'] },
    id: { type: ['string', 'integer', 'null'] },
    method: { type: 'string' },
    params: { type: 'object', additionalProperties: true },
    result: { type: 'object', additionalProperties: true },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'integer' }, message: { type: 'string' } },
      additionalProperties: true,
    },
  },
  additionalProperties: true,
};

const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: {
    ...{ protocolVersion: '2025-06-18', capabilities: {} },
    clientInfo: { name: 'my-client', version: '1.0' },
  },
};
const NO_SESSION = {
  ...{ jsonrpc: '2.0', id: null },
  error: { code: -32001, message: 'there is no such session: begin one with initialize' },
};

const header = (name: string, description: string, required = false): Json => ({
  ...{ name, in: 'header', required, description, schema: { type: 'string' } },
});

const SESSION = 'Mcp-Session-Id';
const VERSION = header(
  'Mcp-Protocol-Version',
  'The version that initialize answered; every later request names it.',
);
const OF_A_SESSION = [header(SESSION, 'The session, as initialize answered it.', true), VERSION, AGENT_ID];
const LAST_EVENT = header(
  'Last-Event-ID',
  'The id of the event that was received last; what came after it is sent again.',
);
const PROFILE: Json = {
  ...{ name: 'profile', in: 'query', required: false, schema: { type: 'string' } },
  description: 'With initialize: the tools to offer, as profiles and families separated by commas.',
};

const EVENTS = content(EVENT_STREAM_TYPE, { type: 'string' });

/** The methods of the address of MCP, by their names in OpenAPI. */
export function describeMcp(schemas: ComponentSchemas): Readonly<Record<'get' | 'post' | 'delete', Json>> {
  const messageRef = schemas.add('McpMessage', MESSAGE);
  // What stands before the protocol refuses as every other route does.
  const either = content(JSON_TYPE, { anyOf: [messageRef, { $ref: '#/components/schemas/Error' }] });
  const refusal = { [JSON_TYPE]: { schema: messageRef, example: NO_SESSION } };
  const refused = {
    ...failures(),
    400: { description: 'Refused: the message or the code says why', content: either },
    404: { description: 'There is no such session: begin one with initialize', content: refusal },
    default: { description: 'Not done: the message or the code says why', content: either },
  };
  return {
    post: {
      operationId: 'mcp_send',
      summary: 'Send a message of MCP.',
      description:
        'Streamable HTTP of the Model Context Protocol; the header Accept names both application/json and text/event-stream. A request of the method initialize begins a session, without the header Mcp-Session-Id.',
      tags: [MCP_TAG],
      parameters: [
        header(SESSION, 'The session, as initialize answered it; every other message names it.'),
        ...[VERSION, AGENT_ID, PROFILE],
      ],
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: messageRef, example: INITIALIZE } } },
      responses: {
        200: {
          description: 'A stream of events, whose data are the answer and what was said before it',
          headers: { [SESSION]: { description: 'The session', schema: { type: 'string' } } },
          content: EVENTS,
        },
        202: { description: 'Taken: a notification, or an answer' },
        ...refused,
      },
    },
    get: {
      operationId: 'mcp_listen',
      summary: 'Follow what the node says in a session of MCP.',
      description: 'A stream of events without an end; one for each session.',
      tags: [MCP_TAG],
      parameters: [...OF_A_SESSION, LAST_EVENT],
      responses: {
        200: { description: 'Server-sent events, whose data are messages', content: EVENTS },
        ...refused,
      },
    },
    delete: {
      operationId: 'mcp_end',
      summary: 'End a session of MCP.',
      description: 'End a session of MCP; calls under way are finished first.',
      tags: [MCP_TAG],
      parameters: OF_A_SESSION,
      responses: { 200: { description: 'The session has ended' }, ...refused },
    },
  };
}
