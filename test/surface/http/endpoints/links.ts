import { type EndpointRow, INVALID, memory, NOT_FOUND } from './row.js';

const kept = (keep: string, title: string, more: Partial<EndpointRow> & { readonly scope?: string } = {}) => {
  const { scope, ...row } = more;
  const body = memory(title, scope === undefined ? {} : { scope });
  return { section: '4.5', what: title, method: 'POST', path: '/memories', body, status: 201, keep, ...row };
};
const POST = { section: '4.5', method: 'POST' } as const;
const LINK = { ...POST, path: '/links' } as const;
const UNLINK = { section: '4.5', method: 'DELETE', path: '/links' } as const;
const VERIFY = { ...POST, path: '/links/verify' } as const;
const END = { ...POST, path: '/kg/invalidate' } as const;
const UNKNOWN = { status: 400, code: 'UNKNOWN_FIELD' } as const;
const FORBIDDEN = { status: 403, code: 'FORBIDDEN' } as const;
const pair = (source_id: string, target_id: string, relation?: string) => ({
  ...{ source_id, target_id },
  ...(relation === undefined ? {} : { relation }),
});
const SHOWN = {
  ...{ source_id: 'string', target_id: 'string', relation: 'string', created_at: 'string' },
  ...{ valid_from: 'string', observed_by: 'string', attest_level: 'string', signed_by: 'string' },
};

/** Alice's memories l and m, Bob's n, and o that only Bob may see. */
export const links: readonly EndpointRow[] = [
  kept('l', 'a link leads from here'),
  kept('m', 'and comes here'),
  kept('n', 'a memory of another', { as: 'ai:bob' }),
  kept('o', 'a secret of another', { as: 'ai:bob', scope: 'private' }),
  {
    ...{ ...LINK, what: 'link', body: pair('{l}', '{m}', 'depends_on'), status: 201 },
    holds: {
      linked: true,
      created: true,
      relation: 'depends_on',
      valid_until: null,
      attest_level: 'self_signed',
    },
  },
  {
    ...{ ...LINK, what: 'link again', body: pair('{l}', '{m}', 'depends_on'), status: 201 },
    holds: { linked: true, created: false },
  },
  {
    ...{ ...LINK, what: 'link by other names', body: { from: '{l}', to: '{n}', rel_type: 'advances' } },
    ...{ status: 201, holds: { relation: 'advances' } },
  },
  {
    ...LINK,
    what: 'link without a relation',
    body: pair('{l}', '{m}'),
    status: 201,
    holds: { relation: 'related_to' },
  },
  { ...LINK, what: 'link a memory to itself', body: pair('{l}', '{l}'), ...INVALID },
  { ...LINK, what: 'link by an unknown relation', body: pair('{l}', '{m}', 'likes'), ...INVALID },
  {
    ...LINK,
    what: 'link with an unknown field',
    body: { ...pair('{l}', '{m}'), link_type: 'x' },
    ...UNKNOWN,
  },
  { ...LINK, what: 'link without a target', body: { source_id: '{l}' }, ...INVALID },
  {
    ...LINK,
    what: 'link until before now',
    body: { ...pair('{l}', '{n}'), valid_until: '2020-01-01T00:00:00Z' },
    ...INVALID,
  },
  { ...LINK, what: 'link what is not there', body: pair('nothing', '{m}'), ...NOT_FOUND },
  { ...LINK, what: 'link to what is not there', body: pair('{l}', 'nothing'), ...NOT_FOUND },
  { ...LINK, what: 'link to a secret', body: pair('{l}', '{o}'), ...NOT_FOUND },
  { ...LINK, what: "link another's", body: pair('{n}', '{l}'), ...FORBIDDEN },
  {
    ...{
      ...LINK,
      what: 'link with another validity',
      body: { ...pair('{l}', '{m}'), valid_from: '2020-01-01T00:00:00Z' },
    },
    ...{ status: 409, code: 'CONFLICT' },
  },
  { ...LINK, what: 'reflect', body: pair('{l}', '{m}', 'reflects_on'), status: 201 },
  {
    ...{ ...LINK, what: 'reflect in a circle', body: pair('{m}', '{l}', 'reflects_on') },
    ...{ status: 409, code: 'REFLECTION_CYCLE_DETECTED' },
  },
  {
    ...{ section: '4.5', what: 'links', method: 'GET', path: '/links/{m}', status: 200 },
    ...{ shape: { links: [SHOWN], count: 'number' }, holds: { count: 3 } },
  },
  {
    section: '4.5',
    what: 'links, some',
    method: 'GET',
    path: '/links/{l}?limit=1',
    status: 200,
    holds: { count: 1, truncated: true },
  },
  { section: '4.5', what: 'links of nothing', method: 'GET', path: '/links/nothing', ...NOT_FOUND },
  { section: '4.5', what: 'links of a secret', method: 'GET', path: '/links/{o}', ...NOT_FOUND },
  {
    ...{ ...VERIFY, what: 'verify', body: pair('{l}', '{m}', 'depends_on'), status: 200 },
    holds: {
      ...{ relation: 'depends_on', verified: true, attest_level: 'self_signed', signature_present: true },
      ...{ observed_by: 'ai:alice', findings: [] },
    },
  },
  {
    ...{
      ...VERIFY,
      what: 'verify by the id of the link',
      body: { link_id: '{l}|{m}|depends_on', verification_nonce: 'n' },
    },
    ...{ status: 200, holds: { verified: true, relation: 'depends_on' } },
  },
  {
    ...{
      ...VERIFY,
      what: 'verify twice',
      body: { ...pair('{l}', '{m}', 'depends_on'), verification_nonce: 'n' },
    },
    ...{ status: 409, code: 'VERIFICATION_REPLAYED' },
  },
  { ...VERIFY, what: 'verify nothing', body: {}, ...INVALID },
  { ...VERIFY, what: 'verify a bad id', body: { link_id: '{l}|{m}' }, ...INVALID },
  { ...VERIFY, what: 'verify one of several', body: { source_id: '{l}' }, ...INVALID },
  { ...VERIFY, what: 'verify what is not there', body: pair('{l}', '{m}', 'supersedes'), ...NOT_FOUND },
  {
    ...{
      ...POST,
      path: '/memory_verify',
      what: 'verify as the tool',
      body: { link_id: '{l}--depends_on-->{m}' },
    },
    ...{ status: 200, shape: { signed_by: 'string', signed_at: 'string' } },
    holds: { signature_verified: true, attest_level: 'self_signed' },
  },
  { ...POST, path: '/memory_verify', what: 'verify nothing as the tool', body: {}, ...INVALID },
  {
    ...{
      ...END,
      what: 'invalidate',
      body: { ...pair('{l}', '{m}', 'depends_on'), valid_until: '2099-01-01T00:00:00+01:00' },
    },
    ...{ status: 200 },
    holds: {
      found: true,
      changed: true,
      valid_until: '2098-12-31T23:00:00.000Z',
      previous_valid_until: null,
    },
  },
  {
    ...{
      ...END,
      what: 'invalidate again',
      body: { ...pair('{l}', '{m}', 'depends_on'), valid_until: '2099-01-01T00:00:00+01:00' },
      status: 200,
    },
    holds: {
      found: true,
      changed: false,
      valid_until: '2098-12-31T23:00:00.000Z',
      previous_valid_until: '2098-12-31T23:00:00.000Z',
    },
  },
  {
    ...{ ...VERIFY, what: 'verify what has ended', body: pair('{l}', '{m}', 'depends_on'), status: 200 },
    holds: {
      verified: false,
      attest_level: 'unsigned',
      signature_present: false,
      findings: ['the link is not signed'],
    },
  },
  { ...END, what: 'invalidate without a relation', body: pair('{l}', '{m}'), ...INVALID },
  {
    ...END,
    what: "invalidate another's",
    as: 'ai:bob',
    body: pair('{l}', '{m}', 'related_to'),
    ...FORBIDDEN,
  },
  {
    ...{ ...END, what: 'invalidate what is not there', body: pair('{l}', '{m}', 'contradicts') },
    ...{ ...NOT_FOUND, holds: { found: false, relation: 'contradicts' } },
  },
  { ...UNLINK, what: "delete others'", as: 'ai:carol', body: pair('{l}', '{m}'), ...FORBIDDEN },
  {
    ...UNLINK,
    what: 'delete one relation',
    body: pair('{l}', '{m}', 'related_to'),
    status: 200,
    holds: { deleted: 1 },
  },
  {
    ...UNLINK,
    what: 'delete it again',
    body: pair('{l}', '{m}', 'related_to'),
    status: 200,
    holds: { deleted: 0 },
  },
  { ...UNLINK, what: 'delete all of a pair', body: pair('{l}', '{m}'), status: 200, holds: { deleted: 2 } },
  {
    ...UNLINK,
    what: 'delete as the owner of the target',
    as: 'ai:bob',
    body: pair('{l}', '{n}'),
    status: 200,
    holds: { deleted: 1 },
  },
  {
    ...UNLINK,
    what: 'delete links to a secret',
    body: pair('{l}', '{o}'),
    status: 200,
    holds: { deleted: 0 },
  },
  { ...UNLINK, what: 'delete without a target', body: { source_id: '{l}' }, ...INVALID },
];
