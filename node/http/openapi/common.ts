import { ERRORS, type ErrorCode } from '../../../protocol/base/errors.js';
import { MISSED_FIELDS } from '../../pipeline/replicate.js';
import { JSON_TYPE } from '../exchange.js';
import type { Json } from './schemas.js';

/** What many routes have in common: their failures, their headers, and how a key is presented. */

export const content = (type: string, schema: Json) => ({ [type]: { schema } });

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const responseRef = (name: string) => ({ $ref: `#/components/responses/${name}` });

/** A write that waits for an approval, or for more nodes. */
export const ACCEPTED = responseRef('Accepted');

/** What every route may answer; `keyed` for one that takes the API key, `named` for one whose path names something. */
export function failures(of: { readonly keyed?: boolean; readonly named?: boolean } = {}): Json {
  return {
    400: responseRef('Refused'),
    ...(of.keyed === false ? {} : { 401: responseRef('Unauthorized') }),
    ...(of.named === true ? { 404: responseRef('NotFound') } : {}),
    default: responseRef('Failed'),
  };
}

/** The client has the answer already. */
export const NOT_CHANGED = responseRef('NotModified');
export const ENTITY_TAG = { $ref: '#/components/headers/ETag' };
export const IF_NONE_MATCH = { $ref: '#/components/parameters/IfNoneMatch' };
export const AGENT_ID = { $ref: '#/components/parameters/AgentId' };
export const IDEMPOTENCY = { $ref: '#/components/parameters/IdempotencyKey' };

/** Interface §4.13; a write on enough nodes has its ordinary status and `quorum_acks`. */
const MISSED_SCHEMA = {
  type: 'object',
  description:
    'Done here, but so far on fewer nodes than required: the ordinary answer with these additional fields',
  required: [...MISSED_FIELDS],
  properties: {
    quorum_met: { const: false },
    acks: { type: 'integer', minimum: 1, description: 'Nodes that durably have it, this one included' },
    needed: { type: 'integer', minimum: 2 },
    reason: { type: 'string', enum: ['timeout', 'unreachable', 'parked', 'stopping'] },
    durability: { const: 'local' },
    op_id: { type: 'string', description: 'For GET /api/v1/mesh/operations/{id}' },
  },
  additionalProperties: true,
};

/** Interface §7: a command that a policy set aside. */
const PENDING_SCHEMA = {
  type: 'object',
  description: 'Nothing was done yet: a policy of the namespace asks for an approval',
  required: ['status', 'pending_id', 'reason', 'action', 'namespace'],
  properties: {
    status: { const: 'pending' },
    pending_id: { type: 'string', description: 'For POST /api/v1/pending/{id}/approve' },
    reason: { type: 'string' },
    action: { type: 'string', description: 'What would be done' },
    namespace: { type: 'string' },
    memory_id: { type: ['string', 'null'] },
  },
  additionalProperties: true,
};

const ERROR_SCHEMA = {
  type: 'object',
  description: 'Every error has a sentence for people and a stable code; some codes add fields.',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string' },
    code: {
      type: 'string',
      enum: Object.keys(ERRORS),
      description: (Object.keys(ERRORS) as ErrorCode[])
        .map((code) => `${code}: ${ERRORS[code].http}`)
        .join(', '),
    },
  },
  additionalProperties: true,
};

export const COMMON_SCHEMAS: Readonly<Record<string, Json>> = {
  Error: ERROR_SCHEMA,
  MissedQuorum: MISSED_SCHEMA,
  AwaitsApproval: PENDING_SCHEMA,
};

const failure = (description: string, error: string, code: ErrorCode) => ({
  description,
  content: { [JSON_TYPE]: { schema: schemaRef('Error'), example: { error, code } } },
});

export const COMMON_RESPONSES: Readonly<Record<string, Json>> = {
  Refused: failure('Refused: the code says why', 'the request has no title', 'VALIDATION_FAILED'),
  Unauthorized: failure('The API key is missing or wrong', 'missing or invalid API key', 'UNAUTHORIZED'),
  NotFound: failure('The caller sees nothing of that id', 'memory not found', 'NOT_FOUND'),
  Failed: failure('Not done: the code says why', 'server_overloaded', 'OVERLOADED'),
  NotModified: { description: 'The client has this answer already', headers: { ETag: ENTITY_TAG } },
  Accepted: {
    description: 'Done here, but so far on fewer nodes than required; or it waits for an approval',
    content: content(JSON_TYPE, { anyOf: [schemaRef('MissedQuorum'), schemaRef('AwaitsApproval')] }),
  },
};

export const COMMON_HEADERS: Readonly<Record<string, Json>> = {
  ETag: {
    description: 'Give it back in If-None-Match; that of a memory in If-Match too. Long answers have none.',
    schema: { type: 'string' },
  },
};

export const COMMON_PARAMETERS: Readonly<Record<string, Json>> = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier answer; 304 without a body where it is still the answer.',
    schema: { type: 'string' },
  },
  AgentId: {
    name: 'X-Agent-Id',
    in: 'header',
    required: false,
    description: 'Who calls; a request without it is anonymous.',
    example: 'ai:assistant',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_\\-:@./]{1,128}$' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Names the call of a named agent: sent again with the same key and input, it is done once, and answers what the first one stored.',
    example: '7f1c6c1e-4a0e-4a43-a7c4-0a7d2a3f5b10',
    schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
  },
};
