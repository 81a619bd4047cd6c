import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createClient, MnemeshError } from '../../node/client/index.js';
import { clientRoute } from '../../node/client/routes.js';
import { TOKEN_OPERATIONS, type TokenOperation } from '../../node/identity/token-text.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { type Answered, bearer, HELPER, type Json, KEY, LEAD, type TokenNode } from './tokens-of-a-node.js';

/** Only what lies outside of the token's namespaces holds it. */
const MARK = 'zebrafish';
const LATER = '2099-01-01T00:00:00Z';

interface Ids {
  readonly inside: string;
  readonly second: string;
  readonly moved: string;
  readonly gone: string;
  readonly secret: string;
  readonly parent: string;
  readonly archived: string;
  /** An instant before anything moved. */
  readonly before: string;
}

/**
 * Calls of each operation that a token for some namespaces may call, which ask for what lies outside too. Whoever makes another
 * operation `by-namespace` adds its calls.
 */
const PROBES: Readonly<Record<string, (ids: Ids) => readonly Json[]>> = {
  memory_store: ({ secret }) => [
    { title: `a ${MARK} note`, content: `about the ${MARK} secret`, namespace: 'secret' },
    { title: 'repeated', content: 'near to what lies outside', namespace: 'team/alpha' },
    {
      ...{ title: 'cites', content: 'what lies outside', namespace: 'team/alpha' },
      citations: [{ uri: `doc:${secret}`, accessed_at: '2026-01-01T00:00:00Z' }],
    },
  ],
  memory_store_bulk: () => [{ memories: [{ title: 'x', content: 'y', namespace: 'secret' }] }],
  memory_recall: () => [
    { context: MARK },
    { context: 'about', namespace: 'secret' },
    { context: 'about', namespace: 'team/alpha', include_archived: true },
    { context: 'about', as_agent: 'secret/deep' },
    { context: 'about', as_of: LATER },
    { context: 'about', limit: 50 },
    { context: 'about', namespace: 'team/**', confidence_tier: 'confirmed' },
  ],
  memory_list: ({ before }) => [
    {},
    { namespace: 'secret' },
    { namespace: 'secret/**' },
    { namespace: '**' },
    { agent_id: LEAD },
    { include_expired: true, limit: 200 },
    { as_of: LATER, limit: 200 },
    { known_at: before, limit: 200 },
  ],
  memory_search: () => [{ query: MARK }, { query: 'about' }, { query: 'about', namespace: 'team' }],
  memory_get: ({ inside, secret, moved, archived }) => [
    { id: inside },
    { id: secret },
    { id: secret.slice(0, 8) },
    { id: moved },
    { id: archived },
  ],
  memory_load_family: () => [{ family: 'core' }, { family: 'core', namespace: 'secret', k: 50 }],
  memory_smart_load: () => [{ intent: `find the ${MARK}` }, { intent: 'about', namespace: 'secret', k: 50 }],
  memory_update: ({ secret, inside }) => [
    { id: secret, content: 'changed' },
    { id: inside, namespace: 'team' },
    { id: inside, namespace: 'secret' },
  ],
  memory_delete: ({ secret }) => [{ id: secret }, { id: secret, erase: true }],
  memory_promote: ({ secret }) => [{ id: secret }],
  memory_forget: () => [{ pattern: MARK }, { namespace: 'secret' }, { namespace: 'secret', pattern: MARK }],
  memory_undo_edit: ({ secret, moved }) => [{ id: secret }, { id: moved, to: '1' }, { id: moved }],
  memory_history: ({ secret, moved, inside }) => [
    { id: secret },
    { id: inside },
    { id: moved, limit: 100 },
    { id: moved, from: '1' },
  ],
  memory_link: ({ inside, secret }) => [
    { source_id: inside, target_id: secret, relation: 'related_to' },
    { source_id: secret, target_id: inside, relation: 'related_to' },
  ],
  memory_get_links: ({ inside, secret }) => [{ id: inside }, { id: secret }],
  memory_unlink: ({ inside, secret, parent }) => [
    { source_id: inside, target_id: secret, relation: 'related_to' },
    { source_id: secret, target_id: parent, relation: 'related_to' },
  ],
  memory_kg_invalidate: ({ inside, secret }) => [
    { source_id: inside, target_id: secret, relation: 'related_to' },
  ],
  memory_check_duplicate: () => [{ title: `the ${MARK}`, content: `about the ${MARK}`, namespace: 'secret' }],
  memory_get_taxonomy: () => [{}, { prefix: 'secret' }, { prefix: 'team' }],
  memory_namespaces: () => [{}, { namespace: 'team/alpha', inherit: true }, { namespace: 'secret' }],
  memory_kg_query: ({ inside, secret }) => [
    { source_id: inside, max_depth: 5 },
    { source_id: secret },
    { by_source_uri: `doc:${MARK}` },
  ],
  memory_kg_timeline: ({ inside, secret }) => [{ source_id: inside }, { source_id: secret }],
  memory_find_paths: ({ inside, second, secret }) => [
    { source_id: inside, target_id: second, max_depth: 5 },
    { source_id: inside, target_id: secret },
  ],
  memory_lineage: ({ inside, secret }) => [{ id: inside, direction: 'descendants' }, { id: secret }],
  memory_archive: ({ secret }) => [{ ids: [secret] }],
  memory_archive_list: () => [{}, { namespace: 'secret' }, { limit: 100 }],
  memory_archive_restore: ({ archived }) => [{ id: archived }],
  memory_archive_stats: () => [{}],
  memory_stats: () => [{}],
  memory_capabilities: () => [{}],
  memory_export: () => [{}, { namespace: 'secret' }, { limit: 1 }, { namespace: 'team/**', limit: 100 }],
};

/** What a token may do, as the declarations say it. */
function isFor(operation: Operation, operations: readonly TokenOperation[], isWhole: boolean): boolean {
  if (operation.delegable === 'never') return false;
  if (!isWhole && operation.delegable !== 'by-namespace') return false;
  const needed = operation.guards.admin === true ? [operation.effect, 'admin' as const] : [operation.effect];
  return needed.every((each) => operations.includes(each));
}

const pathFields = (path = '') => [...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => [field!, 'x'] as const);

/** What differs from call to call whatever the store holds. */
const VOLATILE =
  /^(?:uptime_secs|now|exported_at|recall_id|score|.*_score|checked_at|access_count|priority|last_.*|expires_at|updated_at)$/;
const steady = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, member: unknown) => (VOLATILE.test(name) ? undefined : member));

/** Every operation with a token, over the node of a test. */
export function everyOperation(given: () => TokenNode): void {
  describe('for every operation', () => {
    let node: TokenNode;
    let ids: Ids;
    let team: string;
    const lead = (method: string, path: string, body?: unknown) =>
      node.call(method, path, ['x-api-key', KEY, 'x-agent-id', LEAD], body);
    const done = async (asked: Promise<Answered>) => {
      const answered = await asked;
      assert.ok(answered.status < 300, answered.text);
      return answered.json;
    };
    const link = (source_id: string, target_id: string) =>
      done(lead('POST', '/links', { source_id, target_id, relation: 'related_to' }));

    before(async () => {
      node = given();
      const put = (namespace: string, title: string) =>
        node.store(namespace, title, { tier: 'long', source_uri: `doc:${title.split(' ')[0]}` }, LEAD);
      ids = {
        inside: await put('team/alpha', 'inside one'),
        second: await put('team/alpha', 'second one'),
        moved: await put('secret', `${MARK} that moved`),
        gone: await put('team/alpha', 'leaves the team'),
        secret: await put('secret', `${MARK} secret`),
        parent: await put('team', `${MARK} of the parent`),
        archived: await put('secret', `${MARK} archived`),
        before: new Date().toISOString(),
      };
      const rename = {
        title: 'moved one',
        content: 'said anew',
        namespace: 'team/alpha',
        source_uri: 'doc:moved',
      };
      await done(lead('PUT', `/memories/${ids.moved}`, rename));
      await done(lead('PUT', `/memories/${ids.gone}`, { title: `${MARK} gone`, namespace: 'secret' }));
      await done(lead('POST', '/archive', { ids: [ids.archived] }));
      for (const [from, to] of [
        [ids.inside, ids.secret],
        [ids.secret, ids.second],
        [ids.secret, ids.parent],
        [ids.inside, ids.second],
      ] as const)
        await link(from, to);
      await done(lead('POST', '/namespaces/team/standard', { id: ids.parent }));
      team = await node.mint({
        ...{ namespaces: ['team/alpha', 'team/alpha/**'], for_agent: LEAD },
        operations: [...TOKEN_OPERATIONS],
      });
    });

    const call = async (token: string, name: string, input: Json): Promise<Json> => {
      const client = createClient({ url: new URL(node.daemon.base).origin, apiKey: token, retries: 0 });
      try {
        return (await client.call(name, input)) as Json;
      } catch (error) {
        if (!(error instanceof MnemeshError)) throw error;
        const { code, message, details, status } = error;
        return { failed: status, code, message, details };
      }
    };
    const each = async function* (effect: 'read' | 'write') {
      for (const operation of OPERATIONS) {
        if (operation.delegable !== 'by-namespace' || operation.effect !== effect) continue;
        for (const input of PROBES[operation.name]!(ids)) yield { operation, input };
      }
    };
    const answers = async () => {
      const all: [string, unknown][] = [];
      for await (const {
        operation: { name },
        input,
      } of each('read')) {
        all.push([`${name} ${JSON.stringify(input)}`, steady(await call(team, name, input))]);
      }
      return new Map(all);
    };
    /** Fails where an answer tells of the outside what the call did not say itself. */
    const tellsNothing = (what: string, answer: unknown) => {
      const text = JSON.stringify(answer);
      const asked = what.slice(what.indexOf('{'));
      const told = Object.entries(ids).filter(
        ([name, id]) =>
          ['secret', 'parent', 'archived', 'gone'].includes(name) &&
          text.includes(id) &&
          !asked.includes(id.slice(0, 8)),
      );
      assert.deepEqual(told, [], `${what}: ${text}`);
      if (!asked.includes(MARK)) assert.ok(!text.includes(MARK), `${what}: ${text}`);
      assert.ok(!/INTERNAL|UNKNOWN_FIELD|VALIDATION_FAILED/.test(text), `${what}: ${text}`);
    };
    const outside = async () => {
      const { memories } = await done(lead('GET', '/memories?limit=200'));
      const rows = (memories as Json[]).filter(({ namespace }) => !/^team\/alpha/.test(String(namespace)));
      const archive = await done(lead('GET', '/archive?limit=200'));
      const links = await done(lead('GET', `/links/${ids.secret}`));
      return JSON.stringify([
        rows.map(({ id, version, title, content }) => [id, version, title, content]),
        archive,
        links,
      ]);
    };

    it('has calls that ask for the outside', () => {
      const names = OPERATIONS.filter(({ delegable }) => delegable === 'by-namespace').map(
        ({ name }) => name,
      );
      assert.deepEqual(Object.keys(PROBES).sort(), [...names].sort());
      for (const operation of OPERATIONS)
        if (operation.delegable === 'by-namespace')
          assert.ok(clientRoute(operation) !== null, operation.name);
    });

    it('answers the same whatever lies outside', async () => {
      const first = await answers();
      for (const [what, answer] of first) tellsNothing(what, answer);
      const more = await node.store('secret', `${MARK} about more`, {}, LEAD);
      await node.store('team', `inside one of the ${MARK}`, {}, LEAD);
      const away = await node.store('team/beta', `${MARK} about the archive`, {}, LEAD);
      await link(ids.inside, more);
      await link(more, ids.second);
      await done(lead('POST', '/archive', { ids: [away] }));
      await done(lead('PUT', `/memories/${ids.secret}`, { content: `about a changed ${MARK}` }));
      const second = await answers();
      for (const [what, answer] of second) {
        tellsNothing(what, answer);
        assert.deepEqual(answer, first.get(what), what);
      }
    });

    it('exports what it reads, and says that this is a part', async () => {
      const whole = await call(team, 'memory_export', {});
      const read = await call(team, 'memory_list', { limit: 200, format: 'json' });
      const idsOf = (answer: Json) => (answer['memories'] as Json[]).map(({ id }) => id).sort();
      assert.deepEqual(idsOf(whole), idsOf(read));
      assert.deepEqual(whole['only_namespaces'], ['team/alpha', 'team/alpha/**']);
      const pairs = (whole['links'] as Json[]).map(({ source_id, target_id }) => [source_id, target_id]);
      assert.deepEqual(pairs, [[ids.inside, ids.second]]);
      assert.equal(whole['records'], undefined);
      const pages: unknown[] = [];
      for (let cursor: unknown; ; ) {
        const page = await call(team, 'memory_export', {
          limit: 1,
          ...(cursor === undefined ? {} : { cursor }),
        });
        pages.push(...idsOf(page));
        cursor = page['next_cursor'];
        if (cursor === undefined) break;
      }
      assert.deepEqual(pages.sort(), idsOf(whole));
      const again = await done(lead('POST', '/import', whole));
      assert.equal(again['unchanged'], idsOf(whole).length, JSON.stringify(again));
    });

    it('changes nothing outside', async () => {
      const before = await outside();
      for await (const {
        operation: { name },
        input,
      } of each('write'))
        tellsNothing(`${name} ${JSON.stringify(input)}`, await call(team, name, input));
      assert.equal(await outside(), before);
    });

    const KINDS = [
      [['read'], 'team/**'],
      [['write'], 'team/**'],
      [['read', 'write'], '**'],
      [['write', 'admin'], '**'],
    ] as const;

    it('follows the declarations', async () => {
      await Promise.all(KINDS.map(([operations, namespaces]) => followed(operations, namespaces)));
    });

    /** Calls every operation without its input, which a token is looked at before. */
    async function followed(operations: readonly TokenOperation[], namespaces: string): Promise<void> {
      const token = await node.mint({ namespaces: [namespaces], operations, for_agent: HELPER });
      const tool = await session(token);
      for (const operation of OPERATIONS) {
        const { name, mcp } = operation;
        const route = clientRoute(operation);
        if (route === null && mcp === undefined) continue;
        const code =
          route === null
            ? await tool(name)
            : (await call(token, name, Object.fromEntries(pathFields(route.path))))['code'];
        // The secret of the node is looked at before.
        const isRefused = code === 'TOKEN_SCOPE' || (name === 'decide_approval' && code === 'UNAUTHORIZED');
        const permitted = isFor(operation, operations, namespaces === '**');
        assert.equal(isRefused, !permitted, `${name} ${operations.join()} ${namespaces}: ${String(code)}`);
      }
    }

    /** Calls tools in a session of MCP; answers the code of a refusal. */
    async function session(token: string): Promise<(name: string) => Promise<string | null>> {
      const headers = [...bearer(token), 'accept', 'application/json, text/event-stream'];
      const send = (more: readonly string[], method: string, params: Json) =>
        node.call('POST', '//mcp?profile=full', [...headers, ...more], {
          jsonrpc: '2.0',
          id: 1,
          method,
          params,
        });
      const clientInfo = { name: 'raw', version: '1' };
      const opened = await send([], 'initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo,
      });
      const own = ['mcp-session-id', String(opened.headers['mcp-session-id'])];
      return async (name) => {
        const { text } = await send(own, 'tools/call', { name, arguments: {} });
        return /"code\\?":\\?"([A-Z_]+)/.exec(text)?.[1] ?? null;
      };
    }
  });
}
