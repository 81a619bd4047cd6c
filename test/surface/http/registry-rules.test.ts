import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { API_PREFIX } from '../../../node/bindings/api-prefix.js';
import { type OperationRoute, operationRoutes } from '../../../node/bindings/operation-route.js';
import { Secret } from '../../../node/config/secret.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { signDecision } from '../../support/sign-decision.js';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

/** Rules that hold for every route, also for those that are added later: nothing here names an operation. */
const ROUTES = operationRoutes(OPERATIONS);
const KEY = { 'x-api-key': 'k' };
const ADMIN = 'ai:root';

const label = ({ binding }: OperationRoute) => `${binding.method} ${binding.path}`;
const pathOf = ({ binding }: OperationRoute) => API_PREFIX + binding.path.replace(/\{\w+\}/g, 'some-id');

/** A request of the route with one more field in the query or the body. */
function send(
  node: HttpNode,
  route: OperationRoute,
  headers: Record<string, string>,
  field: Record<string, string> = {},
): Promise<Answer> {
  const query = route.binding.fields === 'query' ? `?${new URLSearchParams(field)}` : '';
  const body = route.binding.fields === 'body' ? field : undefined;
  return node.send(route.binding.method, pathOf(route) + query, body, { ...signed(route, body), ...headers });
}

const SECRET = '00ff';
const BEGAN_SECONDS = Math.floor(Date.now() / 1000);
let signatures = 0;

/** The signature of a route that demands one; each is good once. */
function signed({ binding }: OperationRoute, body: unknown): Record<string, string> {
  if (binding.signed?.required !== true) return {};
  signatures += 1;
  // From one instant on: with the clock's, the next signature has the same time where a second began between them.
  const timestamp = BEGAN_SECONDS - (signatures % 250);
  const { method } = binding;
  return signDecision({
    secret: SECRET,
    method,
    pendingId: 'some-id',
    body: JSON.stringify(body),
    timestamp,
  });
}

describe('every route of the registry', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode({ apiKey: 'k', adminAgentIds: [ADMIN], webhookHmacSecret: new Secret(SECRET) });
  });
  after(() => node.close());

  for (const route of ROUTES) {
    it(`${label(route)} needs the API key`, async () => {
      const answer = await send(node, route, { 'x-agent-id': ADMIN });
      assert.deepEqual(answer.json, { error: 'missing or invalid API key', code: 'UNAUTHORIZED' });
      assert.equal(answer.status, 401);
    });

    it(`${label(route)} refuses an invalid or reserved caller`, async () => {
      for (const id of ['a b', '../x', 'daemon', 'system', 'curator', 'federation', 'x'.repeat(129)]) {
        const answer = await send(node, route, { ...KEY, 'x-agent-id': id });
        assert.deepEqual([answer.status, answer.json?.['code']], [400, 'VALIDATION_FAILED'], id);
      }
    });

    const { fields } = route.binding;
    if (route.claims) {
      it(`${label(route)} refuses an agent_id in the ${fields} that is not the header's`, async () => {
        const before = await node.counts();
        const answer = await send(node, route, { ...KEY, 'x-agent-id': 'ai:alice' }, { agent_id: 'ai:bob' });
        assert.deepEqual(
          [answer.status, answer.json?.['code']],
          [403, `agent_id_${fields}_header_mismatch`],
          answer.text,
        );
        const reserved = await send(node, route, KEY, { agent_id: 'daemon' });
        // The query names nobody, whoever it names; a body may, where no header does.
        const refused =
          fields === 'query' ? [403, 'agent_id_query_header_mismatch'] : [400, 'VALIDATION_FAILED'];
        assert.deepEqual([reserved.status, reserved.json?.['code']], refused);
        const same = await send(node, route, { ...KEY, 'x-agent-id': 'ai:bob' }, { agent_id: 'ai:bob' });
        assert.doesNotMatch(same.text, /mismatch|UNKNOWN_FIELD/);
        assert.deepEqual(await node.counts(), before);
      });
    } else {
      it(`${label(route)} takes agent_id as a filter, for whoever asks`, async () => {
        const answer = await send(node, route, { ...KEY, 'x-agent-id': 'ai:alice' }, { agent_id: 'ai:bob' });
        assert.doesNotMatch(answer.text, /mismatch/);
      });
    }
  }
});

const ADMIN_ROUTES = ROUTES.filter(({ operation }) => operation.guards.admin === true);

/** Who asks a node, and whether it takes them for an admin (interface §5.4). */
const ADMIN_TABLE = [
  { set: [], key: true, trust: false, as: ADMIN, admin: false, why: 'an empty set has no members' },
  { set: [], key: false, trust: true, as: ADMIN, admin: false, why: 'trust makes nobody a member' },
  { set: [ADMIN], key: true, trust: false, as: ADMIN, admin: true, why: 'a member with the key' },
  { set: [ADMIN], key: true, trust: false, as: 'ai:other', admin: false, why: 'no member' },
  { set: [ADMIN], key: true, trust: false, as: null, admin: false, why: 'no name' },
  { set: [ADMIN], key: true, trust: false, as: 'AI:ROOT', admin: false, why: 'ids are case-sensitive' },
  { set: [ADMIN], key: false, trust: false, as: ADMIN, admin: false, why: 'self-asserted without a key' },
  { set: [ADMIN], key: false, trust: true, as: ADMIN, admin: true, why: 'the operator trusts the header' },
  { set: [ADMIN], key: false, trust: true, as: 'ai:other', admin: false, why: 'trusted, but no member' },
] as const;

describe('the admin role', () => {
  for (const { set, key, trust, as, admin, why } of ADMIN_TABLE) {
    it(`${admin ? 'opens' : 'closes'} every admin route: ${why}`, async () => {
      const node = await openHttpNode({
        adminAgentIds: set,
        adminHeaderTrust: trust,
        apiKey: key ? 'k' : null,
      });
      try {
        const before = await node.counts();
        for (const route of ADMIN_ROUTES) {
          const headers = { ...(key ? KEY : {}), ...(as === null ? {} : { 'x-agent-id': as }) };
          const answer = await send(node, route, headers);
          // A refusal must not depend on whether the rest of the request is right.
          assert.equal(answer.json?.['code'] === 'ADMIN_REQUIRED', !admin, `${label(route)}: ${answer.text}`);
          if (!admin) {
            assert.deepEqual(
              [answer.status, answer.json],
              [403, { error: 'admin role required', code: 'ADMIN_REQUIRED' }],
            );
          }
        }
        if (!admin) assert.deepEqual(await node.counts(), before);
      } finally {
        await node.close();
      }
    });
  }
});
