import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { biscuitLibrary } from '../../node/identity/biscuit-library.js';
import { newSeed, signerOf } from '../../node/identity/key-file.js';
import { loadTokenSigner } from '../../node/identity/token-root.js';
import { mintToken } from '../../node/identity/tokens.js';
import {
  type Answered,
  bearer,
  HELPER,
  type Json,
  KEY,
  LEAD,
  narrowed,
  nowS,
  Pieces,
  type RawHeaders,
  TokenNode,
  withKey,
} from './tokens-of-a-node.js';

/** A word that only rows outside of the tokens' namespaces hold. */
const OUTSIDE = 'outsidemarker';
const LIST = '/memories';

/** Bound before the first test. */
let node: TokenNode;
const tokens: Record<'full' | 'reader' | 'writer' | 'whole' | 'lead' | 'admin' | 'teamAdmin', string> = {
  ...{ full: '', reader: '', writer: '', whole: '', lead: '', admin: '', teamAdmin: '' },
};
const ids: Record<'inside' | 'second' | 'secret' | 'deep' | 'next' | 'archived', string> = {
  ...{ inside: '', second: '', secret: '', deep: '', next: '', archived: '' },
};

const get = (path: string, headers: RawHeaders) => node.call('GET', path, headers);
const post = (path: string, token: string, body: unknown) => node.call('POST', path, bearer(token), body);
let notes = 0;
function note(more: Json): Json {
  notes += 1;
  return { title: `a note ${notes}`, content: 'of the helper', ...more };
}

/** A block that somebody wrote by hand, behind a token. */
async function appended(token: string, code: string): Promise<string> {
  const { Biscuit, PublicKey, SignatureAlgorithm } = await biscuitLibrary();
  const [root, text] = token.slice(4).split('.') as [string, string];
  const key = PublicKey.fromBytes(Buffer.from(root, 'base64url'), SignatureAlgorithm.Ed25519);
  const block = Biscuit.block_builder();
  block.addCode(code);
  return `mnt_${root}.${Biscuit.fromBase64(text, key).appendBlock(block).toBase64()}`;
}

/** A token whose first block somebody wrote by hand with the key of the node. */
async function signedByNode(
  code: string,
  seed = loadTokenSigner(`${node.daemon.home}/keys`)!.seed,
): Promise<string> {
  const { Biscuit, PrivateKey, SignatureAlgorithm } = await biscuitLibrary();
  const builder = Biscuit.builder();
  builder.addCode(code);
  const text = builder.build(PrivateKey.fromBytes(seed, SignatureAlgorithm.Ed25519)).toBase64();
  return `mnt_${Buffer.from(signerOf(seed).publicKey).toString('base64url')}.${text}`;
}

interface Misuse {
  readonly what: string;
  readonly ask: () => Promise<Answered>;
  readonly status: number;
  /** The code of the refusal; absent for an answer in which nothing shows. */
  readonly code?: string;
  readonly holds?: (json: Json) => void;
}

const INVALID = { status: 401, code: 'TOKEN_INVALID' } as const;
const REVOKED = { status: 401, code: 'TOKEN_REVOKED' } as const;
const EXPIRED = { status: 401, code: 'TOKEN_EXPIRED' } as const;
const NO_KEY = { status: 401, code: 'UNAUTHORIZED' } as const;
const SCOPE = { status: 403, code: 'TOKEN_SCOPE' } as const;
const HIDDEN = { status: 404, code: 'NOT_FOUND' } as const;
const WRONG = { status: 400, code: 'VALIDATION_FAILED' } as const;

const withText = (
  what: string,
  text: () => string | Promise<string>,
  refused: Pick<Misuse, 'status' | 'code'> = INVALID,
): Misuse => ({
  ...{ what, ...refused },
  ask: async () => get(LIST, bearer(await text())),
});
const withHeaders = (
  what: string,
  headers: () => RawHeaders,
  refused: Pick<Misuse, 'status' | 'code'>,
): Misuse => ({
  ...{ what, ...refused },
  ask: () => get(LIST, headers()),
});

const MISSHAPEN: readonly Misuse[] = [
  withText('an empty token', () => 'mnt_'),
  withText('a token of one part', () => tokens.full.split('.')[0]!),
  withText('a token of nonsense', () => `${tokens.full.split('.')[0]!}.bm9uc2Vuc2U`),
  withText('malformed base64', () => tokens.full.replace(/....$/, '*%$#')),
  withText('the alphabet of other base64', () => `${tokens.full.slice(0, -4)}+/+/`),
  withText('a token in hexadecimal', () => `mnt_${Buffer.from(tokens.full.slice(4)).toString('hex')}`),
  withText('an escaped token', () => tokens.full.replace('.', '%2E')),
  withText('two tokens in one', () => `${tokens.full}.${tokens.full.slice(4)}`),
  withText('a token and a key, listed', () => `${tokens.full}, Bearer ${KEY}`),
  withText('a token with a blank inside', () => `${tokens.full.slice(0, 90)} ${tokens.full.slice(90)}`),
  withText('more than a token can be', () => `${tokens.full}${'A'.repeat(7000)}`),
  withText(
    'another letter of the root',
    () => `mnt_${tokens.full[4] === 'A' ? 'B' : 'A'}${tokens.full.slice(5)}`,
  ),
  withText('a token without its prefix', () => tokens.full.slice(4), NO_KEY),
  withText('a prefix in capitals', () => `MNT_${tokens.full.slice(4)}`, NO_KEY),
  withText(
    'a prefix of look-alike letters',
    () => Buffer.from(`\u043cnt_${tokens.full.slice(4)}`).toString('latin1'),
    NO_KEY,
  ),
];

const MISPLACED: readonly Misuse[] = [
  withHeaders('a token as an API key', () => ['x-api-key', tokens.full], INVALID),
  { what: 'a token in the address', ask: () => get(`${LIST}?api_key=${tokens.full}`, []), ...INVALID },
  {
    what: 'a token in the address, and a key',
    ask: () => get(`${LIST}?api_key=${tokens.full}`, withKey()),
    ...INVALID,
  },
  {
    what: 'a token, and a key in the address',
    ask: () => get(`${LIST}?api_key=${encodeURIComponent(KEY)}`, bearer(tokens.full)),
    ...INVALID,
  },
  withHeaders('a token beside the right key', () => [...bearer(tokens.full), 'x-api-key', KEY], INVALID),
  withHeaders('a token beside an empty key', () => [...bearer(tokens.full), 'x-api-key', ''], INVALID),
  withHeaders(
    'a token and then the key, in two headers',
    () => [...bearer(tokens.full), ...bearer(KEY)],
    INVALID,
  ),
  withHeaders(
    'the key and then a token, in two headers',
    () => [...bearer(KEY), ...bearer(tokens.full)],
    INVALID,
  ),
  withHeaders('two tokens in two headers', () => [...bearer(tokens.full), ...bearer(tokens.whole)], INVALID),
  withHeaders('a token under the scheme Basic', () => ['authorization', `Basic ${tokens.full}`], NO_KEY),
  withHeaders('a token under the scheme Token', () => ['authorization', `Token ${tokens.full}`], NO_KEY),
  withHeaders('a token without a scheme', () => ['authorization', tokens.full], INVALID),
  withHeaders('a token in a cookie', () => ['cookie', `authorization=Bearer ${tokens.full}`], NO_KEY),
  withHeaders('a token for a proxy', () => ['proxy-authorization', `Bearer ${tokens.full}`], NO_KEY),
  withHeaders('a token under another header', () => ['x-authorization', `Bearer ${tokens.full}`], NO_KEY),
  {
    what: 'a token in the body',
    ask: () => node.call('POST', LIST, [], note({ token: tokens.full })),
    ...NO_KEY,
  },
];

const FORGED: readonly Misuse[] = [
  withText('a signature with one bit changed', () => Pieces.of(tokens.full).flipped(2, 0)),
  withText('a first block with one bit changed', () => Pieces.of(tokens.full).flipped(2, 150)),
  withText('a proof with one bit changed', () => Pieces.of(tokens.full).flipped(4, 0)),
  withText('the key of another node', async () => {
    const seed = newSeed();
    const { publicKey } = signerOf(seed);
    const origin = { agentId: LEAD, minter: null, minterKey: null, keyMark: null };
    return (await mintToken({ seed, publicKey }, origin, { expiresS: nowS() + 60 })).token;
  }),
  withText('the key of another node under the name of this one', async () => {
    const own = await signedByNode('mnesmesh(1);', newSeed());
    return `${tokens.full.split('.')[0]}.${own.split('.')[1]}`;
  }),
  withText('blocks in another order', async () => {
    const twice = Pieces.of(
      await narrowed(await narrowed(tokens.full, { operations: ['read'] }), { namespaces: ['team/a'] }),
    );
    const [one, two] = twice.all(3);
    return twice.with([...twice.all(2), two!, one!, ...twice.all(4)]);
  }),
  withText('without its last block, with its proof', async () => {
    const less = Pieces.of(await narrowed(tokens.full, { operations: ['read'] }));
    return less.with([...less.all(2), ...less.all(4)]);
  }),
  withText('without a block in the middle', async () => {
    const twice = Pieces.of(
      await narrowed(await narrowed(tokens.full, { operations: ['read'] }), { namespaces: ['team/a'] }),
    );
    return twice.with([...twice.all(2), twice.all(3)[1]!, ...twice.all(4)]);
  }),
  withText('a narrowed token with the proof of the wider one', async () => {
    const less = Pieces.of(await narrowed(tokens.full, { operations: ['read'] }));
    return less.with([...less.all(2), ...less.all(3), ...Pieces.of(tokens.full).all(4)]);
  }),
  withText('the first block of another token', () => {
    const [mine, other] = [Pieces.of(tokens.full), Pieces.of(tokens.whole)];
    return mine.with([...other.all(2), ...mine.all(4)]);
  }),
  withText('the block of another token behind it', async () => {
    const [mine, other] = [
      Pieces.of(tokens.full),
      Pieces.of(await narrowed(tokens.whole, { operations: ['write'] })),
    ];
    return mine.with([...mine.all(2), ...other.all(3), ...other.all(4)]);
  }),
  withText('a block twice', async () => {
    const less = Pieces.of(await narrowed(tokens.full, { operations: ['read'] }));
    return less.with([...less.all(2), ...less.all(3), ...less.all(3), ...less.all(4)]);
  }),
  withText('without a proof', () => Pieces.of(tokens.full).with(Pieces.of(tokens.full).all(2))),
  withText('without a first block', () => Pieces.of(tokens.full).with(Pieces.of(tokens.full).all(4))),
  withText('an appended agent', () => appended(tokens.full, `agent("${LEAD}");`)),
  withText('an appended right', () => appended(tokens.full, 'operation("admin");')),
  withText('an appended rule', () => appended(tokens.full, 'within($w) <- agent($w);')),
  withText('an appended check of another sort', () => appended(tokens.full, 'check if true;')),
  withText('an appended choice', () =>
    appended(tokens.full, 'check if operation($o), ["read"].contains($o) or true;'),
  ),
  withText('an appended refusal', () => appended(tokens.full, 'reject if false;')),
  withText('a list that only looks like one', () =>
    appended(tokens.full, 'check if within($w), ["a, \\"**"].contains($w);'),
  ),
  withText('a star inside a pattern', () =>
    appended(tokens.full, 'check if within($w), ["te*m/**"].contains($w);'),
  ),
  withText(
    'an operation that nobody knows',
    () => appended(tokens.full, 'check if operation($o), ["everything"].contains($o);'),
    SCOPE,
  ),
  withText('narrowed to no namespace', () => narrowed(tokens.full, { namespaces: [] }), SCOPE),
  withText(
    'narrowed to namespaces outside',
    () => narrowed(tokens.full, { namespaces: ['secret/**'] }),
    SCOPE,
  ),
  withText('more blocks than a token has', async () => {
    let token = tokens.full;
    for (let block = 0; block < 16; block += 1)
      token = await appended(token, 'check if operation($o), ["read"].contains($o);');
    return token;
  }),
  withText('of a later version', () => signedByNode(`mnemesh(2);\nagent("${HELPER}");`)),
  withText('of another program', () => signedByNode(`user("${HELPER}");`)),
  withText('without an agent', () => signedByNode('mnemesh(1);')),
  withText('of two agents', () => signedByNode(`mnemesh(1);\nagent("${HELPER}");\nagent("${LEAD}");`)),
  withText('of the service itself', () => signedByNode('mnemesh(1);\nagent("daemon");')),
];

const LATE: readonly Misuse[] = [
  withText('an expired token', () => narrowed(tokens.full, { expiresS: nowS() - 1 }), EXPIRED),
  withText(
    'expired, and narrowed to a later time',
    async () => narrowed(await narrowed(tokens.full, { expiresS: nowS() - 1 }), { expiresS: nowS() + 3600 }),
    EXPIRED,
  ),
  withText('not valid yet', () => narrowed(tokens.full, { notBeforeS: nowS() + 600 }), EXPIRED),
  withText(
    'not valid yet, and narrowed to an earlier time',
    async () => narrowed(await narrowed(tokens.full, { notBeforeS: nowS() + 600 }), { notBeforeS: 0 }),
    EXPIRED,
  ),
];

const revoke = (token: string) => node.call('POST', '/tokens/revoke', withKey(), { token });

const TAKEN_BACK: readonly Misuse[] = [
  withText(
    'a revoked token',
    async () => {
      const token = await node.mint({ namespaces: ['team/**'] });
      assert.equal((await get(LIST, bearer(token))).status, 200);
      assert.equal((await revoke(token)).status, 200);
      return token;
    },
    REVOKED,
  ),
  withText(
    'narrowed from a token that is revoked',
    async () => {
      const token = await node.mint({ namespaces: ['team/**'] });
      await revoke(token);
      return narrowed(token, { namespaces: ['team/alpha'] });
    },
    REVOKED,
  ),
  withText(
    'narrowed before it was revoked',
    async () => {
      const token = await node.mint({ namespaces: ['team/**'] });
      const less = await narrowed(token, { namespaces: ['team/alpha'] });
      assert.equal((await get(LIST, bearer(less))).status, 200);
      await revoke(token);
      return less;
    },
    REVOKED,
  ),
  withText(
    'revoked, and written with padding',
    async () => {
      const token = await node.mint({ namespaces: ['team/**'] });
      await revoke(token);
      return `${token.replace(/=+$/, '')}==`;
    },
    { status: 401 },
  ),
  withText(
    'minted by who has another key now',
    async () => {
      const path = '/agents/ai:minter/pubkey';
      const bound = () => Buffer.from(signerOf(newSeed()).publicKey).toString('base64');
      await node.call('POST', '/agents', withKey(), { agent_id: 'ai:minter', agent_type: 'ai:coder' });
      assert.equal((await node.call('PUT', path, withKey(), { pubkey_b64: bound() })).status, 200);
      const token = await node.mint({ namespaces: ['**'], for_agent: 'ai:minter' }, withKey('ai:minter'));
      assert.equal((await get(LIST, bearer(token))).status, 200);
      assert.equal((await node.call('PUT', path, withKey(), { pubkey_b64: bound() })).status, 200);
      return token;
    },
    REVOKED,
  ),
];

const OTHER_AGENT: readonly Misuse[] = [
  withHeaders('as another agent', () => [...bearer(tokens.full), 'x-agent-id', LEAD], SCOPE),
  withHeaders(
    'as two agents',
    () => [...bearer(tokens.full), 'x-agent-id', HELPER, 'x-agent-id', LEAD],
    SCOPE,
  ),
  withHeaders(
    'as the agent in capitals',
    () => [...bearer(tokens.full), 'x-agent-id', HELPER.toUpperCase()],
    SCOPE,
  ),
  withHeaders('as nobody', () => [...bearer(tokens.full), 'x-agent-id', ''], SCOPE),
  {
    what: 'another author in the body',
    ask: () => post(LIST, tokens.full, note({ namespace: 'team/alpha', agent_id: LEAD })),
    ...{ status: 403, code: 'agent_id_body_header_mismatch' },
  },
  {
    what: 'another author in the body, by an admin',
    ask: () => post('/agents', tokens.lead, { agent_id: 'ai:other', agent_type: 'ai:coder' }),
    ...{ status: 403, code: 'agent_id_body_header_mismatch' },
  },
  {
    what: 'another author in the metadata',
    ask: () => post(LIST, tokens.full, note({ namespace: 'team/alpha', metadata: { agent_id: LEAD } })),
    ...{ status: 403, code: 'agent_id_body_header_mismatch' },
  },
  {
    what: 'another author of a row among many',
    ask: () =>
      post('/memories/bulk', tokens.full, { memories: [note({ namespace: 'team/alpha', agent_id: LEAD })] }),
    status: 200,
    holds: ({ results }) => assert.equal((results as Json[])[0]!['code'], 'agent_id_body_header_mismatch'),
  },
];

const asked = (
  what: string,
  token: keyof typeof tokens,
  method: string,
  path: () => string,
  body?: Json,
): Misuse => ({
  ...{ what, ...SCOPE },
  ask: () => node.call(method, path(), bearer(tokens[token]), body),
});

const OTHER_OPERATIONS: readonly Misuse[] = [
  asked('a reader stores', 'reader', 'POST', () => LIST, note({ namespace: 'team/alpha' })),
  asked('a reader updates', 'reader', 'PUT', () => `/memories/${ids.inside}`, { content: 'changed' }),
  asked('a reader deletes', 'reader', 'DELETE', () => `/memories/${ids.inside}`),
  asked('a reader promotes', 'reader', 'POST', () => `/memories/${ids.inside}/promote`, {}),
  asked('a reader archives', 'reader', 'POST', () => '/archive', { ids: [] }),
  asked('a reader stores many', 'reader', 'POST', () => '/memories/bulk', { memories: [] }),
  asked('a reader links', 'reader', 'POST', () => '/links', {}),
  asked('a writer lists', 'writer', 'GET', () => LIST),
  asked('a writer recalls', 'writer', 'GET', () => '/recall?q=a'),
  asked('a writer follows its inbox', 'writer', 'GET', () => '/inbox/stream'),
  asked('an admin reads, and exports', 'lead', 'GET', () => '/export'),
  asked('an admin reads, and counts', 'lead', 'GET', () => '/stats'),
  asked('an admin reads, and lists the audit chain', 'lead', 'GET', () => '/audit'),
  asked('an admin reads, and forgets', 'lead', 'POST', () => '/forget', { pattern: 'a' }),
  asked('who is no admin forgets', 'whole', 'POST', () => '/forget', { pattern: 'a' }),
  {
    what: 'who is no admin has admin in its token',
    ask: async () => get('/stats', bearer(await signedByNode(`mnemesh(1);\nagent("${HELPER}");`))),
    ...{ status: 403, code: 'ADMIN_REQUIRED' },
  },
  asked('a token mints', 'admin', 'POST', () => '/tokens', { namespaces: ['**'] }),
  asked('a token lists tokens', 'admin', 'GET', () => '/tokens'),
  asked('a token revokes', 'admin', 'POST', () => '/tokens/revoke', { all: true }),
  asked('a token binds a key', 'admin', 'PUT', () => `/agents/${HELPER}/pubkey`, { pubkey_b64: 'AA' }),
  asked('a token registers an agent', 'whole', 'POST', () => '/agents', {
    agent_id: HELPER,
    agent_type: 'ai:coder',
  }),
  asked('a token makes a webhook', 'whole', 'POST', () => '/subscriptions', {
    url: 'https://example.org',
    secret: 's'.repeat(32),
  }),
  asked('a token approves', 'whole', 'POST', () => '/pending/x/approve', {}),
  asked('a token answers a hook', 'admin', 'POST', () => '/hooks/questions/x', { answer: 'yes' }),
  asked('a route of the mesh', 'admin', 'GET', () => '/mesh/status'),
  {
    what: 'an admin without the right names another agent',
    ask: () => node.call('POST', '/tokens', withKey(HELPER), { for_agent: LEAD, namespaces: ['**'] }),
    ...{ status: 403, code: 'FORBIDDEN' },
  },
  {
    what: 'who is no admin gives admin away',
    ask: () => node.call('POST', '/tokens', withKey(HELPER), { namespaces: ['**'], operations: ['admin'] }),
    ...{ status: 403, code: 'ADMIN_REQUIRED' },
  },
];

const hidden = (what: string, method: string, path: () => string, body?: () => Json): Misuse => ({
  ...{ what, ...HIDDEN },
  ask: () => node.call(method, path(), bearer(tokens.full), body?.()),
});
const empty = (what: string, path: () => string): Misuse => ({
  ...{ what, status: 200 },
  ask: () => get(path(), bearer(tokens.full)),
  holds: (json) => assert.equal(json['count'] ?? 0, 0, JSON.stringify(json)),
});
const storing = (
  what: string,
  namespace: string,
  refused: Pick<Misuse, 'status' | 'code'> = SCOPE,
): Misuse => ({
  ...{ what, ...refused },
  ask: () => post(LIST, tokens.full, note({ namespace })),
});
const link = (source_id: string, target_id: string) => ({ source_id, target_id, relation: 'related_to' });

const OTHER_NAMESPACES: readonly Misuse[] = [
  hidden('a memory outside by its id', 'GET', () => `/memories/${ids.secret}`),
  hidden('a memory outside by the beginning of its id', 'GET', () => `/memories/${ids.secret.slice(0, 13)}`),
  hidden('a memory outside by an escaped id', 'GET', () => `/memories/${ids.secret.replaceAll('-', '%2D')}`),
  hidden('a memory of a namespace whose name begins alike', 'GET', () => `/memories/${ids.next}`),
  {
    what: 'a memory outside whose tag is known',
    ask: async () => {
      const known = await get(`/memories/${ids.secret}`, withKey(HELPER));
      return get(`/memories/${ids.secret}`, [
        ...bearer(tokens.full),
        'if-none-match',
        String(known.headers['etag']),
      ]);
    },
    ...HIDDEN,
  },
  hidden('its history', 'GET', () => `/memories/${ids.secret}/history`),
  hidden('its links', 'GET', () => `/links/${ids.secret}`),
  hidden(
    'a change of it',
    'PUT',
    () => `/memories/${ids.secret}`,
    () => ({ content: 'changed' }),
  ),
  hidden(
    'a move of it to the inside',
    'PUT',
    () => `/memories/${ids.secret}`,
    () => ({ namespace: 'team/alpha' }),
  ),
  hidden('its end', 'DELETE', () => `/memories/${ids.secret}`),
  hidden(
    'its promotion',
    'POST',
    () => `/memories/${ids.secret}/promote`,
    () => ({}),
  ),
  hidden(
    'the return of an archived one',
    'POST',
    () => `/archive/${ids.archived}/restore`,
    () => ({}),
  ),
  hidden(
    'a link to it',
    'POST',
    () => '/links',
    () => link(ids.inside, ids.secret),
  ),
  hidden(
    'a link from it',
    'POST',
    () => '/links',
    () => link(ids.secret, ids.inside),
  ),
  {
    what: 'the end of a link between two outside',
    ask: () => node.call('DELETE', '/links', bearer(tokens.full), link(ids.secret, ids.deep)),
    status: 200,
    holds: ({ deleted }) => assert.equal(deleted, 0),
  },
  hidden(
    'a walk from it',
    'POST',
    () => '/kg/query',
    () => ({ source_id: ids.secret }),
  ),
  empty('a list of the outside', () => `${LIST}?namespace=secret`),
  empty('a list of what is below', () => `${LIST}?namespace=secret/**`),
  empty('a search for what is outside', () => '/search?q=deep'),
  empty('a recall of what is outside', () => `/recall?q=${OUTSIDE}`),
  empty('a recall at a position outside', () => `/recall?q=${OUTSIDE}&as_agent=secret/deep/x`),
  empty('a recall of one namespace outside', () => `/recall?q=${OUTSIDE}&namespace=secret`),
  empty('a list by owner', () => `${LIST}?agent_id=${HELPER}&namespace=secret`),
  asked('the archive', 'full', 'GET', () => '/archive'),
  {
    what: 'the archive of an id outside',
    status: 200,
    ask: () => post('/archive', tokens.full, { ids: [ids.secret] }),
    holds: ({ missing }) => assert.deepEqual(missing, [ids.secret]),
  },
  storing('a store outside', 'secret'),
  storing('a store below the outside', 'secret/deep'),
  storing('a store where the name begins alike', 'teamx'),
  storing('a store in other letters', 'Team/alpha'),
  storing('a store in wide letters', '\uff54eam/alpha'),
  storing('a store behind a name with two slashes', 'team//secret', WRONG),
  storing('a store behind a path', 'team/../secret', WRONG),
  storing('a store behind an invisible letter', 'te\u200bam/alpha', WRONG),
  storing('a store in the namespace of agents', '_agents'),
  { what: 'a store without a namespace', ask: () => post(LIST, tokens.full, note({})), ...SCOPE },
  {
    what: 'a move to the outside',
    ask: () => node.call('PUT', `/memories/${ids.second}`, bearer(tokens.full), { namespace: 'secret' }),
    ...SCOPE,
  },
  {
    what: 'rows outside among many',
    status: 200,
    ask: () =>
      post('/memories/bulk', tokens.full, {
        memories: [note({ namespace: 'secret' }), note({ namespace: 'secret/x' })],
      }),
    holds: ({ results }) =>
      assert.deepEqual(
        (results as Json[]).map(({ code }) => code),
        ['TOKEN_SCOPE', 'TOKEN_SCOPE'],
      ),
  },
  {
    what: 'a merge with a memory outside',
    ask: () =>
      post(LIST, tokens.full, {
        title: `${OUTSIDE} secret`,
        content: 'merged',
        namespace: 'secret',
        on_conflict: 'merge',
      }),
    ...SCOPE,
  },
  {
    what: 'a forget by an admin for the inside',
    status: 200,
    ask: () => post('/forget', tokens.teamAdmin, { pattern: OUTSIDE }),
    holds: ({ deleted }) => assert.equal(deleted ?? 0, 0),
  },
  asked('an export', 'full', 'GET', () => '/export'),
  {
    what: 'an export by an admin for the inside',
    status: 200,
    ask: () => get('/export', bearer(tokens.teamAdmin)),
    holds: ({ memories, only_namespaces: only }) => {
      assert.deepEqual(only, ['team/**']);
      assert.ok((memories as Json[]).every(({ namespace }) => /^team(\/|$)/.test(String(namespace))));
    },
  },
  asked('a message to another agent', 'full', 'POST', () => '/notify', {
    target_agent_id: LEAD,
    title: 't',
    payload: 'p',
  }),
  asked('the inbox', 'full', 'GET', () => '/inbox'),
  asked('the inbox as it comes', 'full', 'GET', () => '/inbox/stream'),
  asked('approvals as they come', 'full', 'GET', () => '/approvals/stream'),
  asked('the figures of the node', 'full', 'GET', () => '//metrics'),
  asked('a job for the model', 'full', 'POST', () => '/auto_tag', { title: 'a', content: 'b' }),
  asked('the rules of the mesh', 'full', 'POST', () => '/memory_rule_list', {}),
];

const TABLE = {
  MISSHAPEN,
  MISPLACED,
  FORGED,
  LATE,
  TAKEN_BACK,
  OTHER_AGENT,
  OTHER_OPERATIONS,
  OTHER_NAMESPACES,
};

describe('a token that is misused over HTTP', () => {
  before(async () => {
    node = await TokenNode.start('tokens');
    ids.inside = await node.store('team/alpha', 'inside', {}, HELPER);
    ids.second = await node.store('team/alpha', 'second', {}, HELPER);
    // They belong to the agent of the token, so nothing but its namespaces keeps them.
    ids.secret = await node.store('secret', `${OUTSIDE} secret`, {}, HELPER);
    ids.deep = await node.store('secret/deep', `${OUTSIDE} deep`, {}, HELPER);
    ids.next = await node.store('teamx', `${OUTSIDE} next`, {}, HELPER);
    ids.archived = await node.store('secret', `${OUTSIDE} archived`, {}, HELPER);
    await node.call('POST', '/archive', withKey(HELPER), { ids: [ids.archived] });
    for (const [from, to] of [
      [ids.inside, ids.secret],
      [ids.secret, ids.deep],
      [ids.inside, ids.second],
    ] as const) {
      assert.equal((await node.call('POST', '/links', withKey(HELPER), link(from, to))).status, 201);
    }
    const team = { namespaces: ['team/**'] };
    tokens.full = await node.mint({ ...team, operations: ['read', 'write'] });
    tokens.reader = await node.mint(team);
    tokens.writer = await node.mint({ ...team, operations: ['write'] });
    tokens.whole = await node.mint({ namespaces: ['**'], operations: ['read', 'write'] });
    tokens.lead = await node.mint({ namespaces: ['**'], operations: ['read', 'write'], for_agent: LEAD });
    tokens.admin = await node.mint({
      namespaces: ['**'],
      operations: ['read', 'write', 'admin'],
      for_agent: LEAD,
    });
    tokens.teamAdmin = await node.mint({ ...team, operations: ['read', 'write', 'admin'], for_agent: LEAD });
  });
  after(() => node.daemon.end('SIGTERM'));

  const outside = async () => {
    const { json } = await get(`${LIST}?limit=100`, withKey());
    const rows = (json['memories'] as Json[]).filter(({ namespace }) =>
      /^(secret|teamx)/.test(String(namespace)),
    );
    return rows.map(({ id, version, title, content }) => [id, version, title, content].join());
  };

  it('is in a table of more than a hundred', () => {
    const names = Object.values(TABLE).flatMap((rows) => rows.map(({ what }) => what));
    assert.ok(names.length >= 100, String(names.length));
  });

  for (const [name, rows] of Object.entries(TABLE)) {
    describe(name.toLowerCase().replaceAll('_', ' '), () => {
      for (const { what, ask, status, code, holds } of rows) {
        it(what, async () => {
          const answered = await ask();
          assert.equal(answered.status, status, answered.text);
          if (code !== undefined) assert.equal(answered.json['code'], code, answered.text);
          if (status === 401) assert.match(String(answered.headers['www-authenticate']), /^Bearer /);
          assert.ok(!answered.text.includes(OUTSIDE), answered.text);
          for (const token of Object.values(tokens))
            assert.ok(!answered.text.includes(token.slice(60)), 'the token shows');
          holds?.(answered.json);
        });
      }
    });
  }

  it('is looked into and narrowed over HTTP by who has the API key, and becomes no wider', async () => {
    const over = (path: string, body: unknown, headers = withKey(HELPER)) =>
      node.call('POST', path, headers, body);
    const token = await node.mint({ namespaces: ['team/**'], operations: ['read', 'write'] });
    const first = await over('/tokens/inspect', { token });
    assert.deepEqual(
      ['agent_id', 'operations', 'namespaces', 'counts', 'problem'].map((name) => first.json[name]),
      [HELPER, ['read', 'write'], ['team/**'], true, null],
    );
    const narrower = await over('/tokens/narrow', {
      token,
      ...{ operations: ['read', 'admin'], namespaces: ['team/ops', 'secret'], expires_secs: 600 },
    });
    assert.deepEqual([narrower.json['operations'], narrower.json['namespaces']], [['read'], ['team/ops']]);
    const text = String(narrower.json['token']);
    assert.equal((await get('/memories?namespace=team/ops', bearer(text))).status, 200);
    assert.equal(
      (await post('/memories', text, note({ namespace: 'team/ops' }))).json['code'],
      'TOKEN_SCOPE',
    );
    for (const [path, more] of [
      ['/tokens/inspect', {}],
      ['/tokens/narrow', { expires_secs: 1 }],
    ] as const)
      assert.equal((await over(path, { token, ...more }, bearer(token))).json['code'], 'TOKEN_SCOPE');
    assert.equal((await over('/tokens/revoke', { token })).status, 200);
    const ended = await over('/tokens/inspect', { token: text });
    assert.deepEqual([ended.json['counts'], ended.json['problem']], [false, 'the token was revoked']);
    for (const wrong of ['', 'mnt_', `${token.slice(0, -4)}AAAA`])
      assert.notEqual((await over('/tokens/inspect', { token: wrong })).status, 200, wrong);
  });

  it('has changed nothing outside, and stands in no log and no audit', async () => {
    assert.equal((await outside()).length, 3);
    assert.ok(
      (await outside()).every((row) => /,1,outsidemarker \w+,about outsidemarker \w+$/.test(row)),
      String(await outside()),
    );
    for (const token of Object.values(tokens)) assert.ok(!node.daemon.errors().includes(token.slice(50, 90)));
    const audit = await get('/audit?limit=1000', withKey());
    assert.ok((audit.json['rows'] as Json[]).some(({ event_type }) => event_type === 'token.revoked'));
    for (const token of Object.values(tokens)) assert.ok(!audit.text.includes(token.slice(50, 90)));
  });
});
