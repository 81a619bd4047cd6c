import { type EndpointRow, INVALID, memory, NO_ADMIN, NOT_FOUND, ROOT } from './row.js';

const stored = (keep: string, title: string): EndpointRow => ({
  ...{ section: '4.2', what: `create ${keep}`, method: 'POST', path: '/memories', status: 201, keep },
  body: memory(title),
});

/** A list that only admins read. */
const forAdmins = (path: string, shape: EndpointRow['shape'] & object): readonly EndpointRow[] => [
  { section: '4.1', what: `${path} for others`, method: 'GET', path, ...NO_ADMIN },
  { section: '4.1', what: path, method: 'GET', path, as: ROOT, status: 200, shape },
];

/** What the console reads and does beside the tables of the interface. */
export const forConsole: readonly EndpointRow[] = [
  stored('u', 'To be undone'),
  {
    ...{ section: '4.2', what: 'edit u', method: 'PUT', path: '/memories/{u}', status: 200 },
    body: { content: 'edited' },
  },
  {
    ...{
      section: '4.2',
      what: 'the history of u',
      method: 'GET',
      path: '/memories/{u}/history',
      status: 200,
    },
    shape: {
      id: 'string',
      versions: [{ op_id: 'string', change: 'string', at: 'string', memory: 'object' }],
    },
    holds: { count: 2 },
  },
  {
    ...{ section: '4.2', what: 'the history of nothing', method: 'GET', path: '/memories/none/history' },
    ...NOT_FOUND,
  },
  {
    ...{ section: '4.2', what: 'undo', method: 'POST', path: '/memories/{u}/undo', body: {}, status: 200 },
    holds: { undone: true, changed: ['content'] },
  },
  {
    ...{ section: '4.2', what: "undo another's", method: 'POST', path: '/memories/{u}/undo', as: 'ai:bob' },
    ...{ body: {}, status: 403, code: 'FORBIDDEN' },
  },
  stored('v', 'The one that is right'),
  stored('w', 'The one that is wrong'),
  {
    ...{ section: '4.2', what: 'resolve', method: 'POST', path: '/contradictions/resolve', status: 200 },
    body: { winner: '{v}', loser: '{w}' },
    holds: { resolved: true },
  },
  {
    ...{ section: '4.2', what: 'resolve again', method: 'POST', path: '/contradictions/resolve' },
    ...{ body: { winner: '{v}', loser: '{w}' }, ...NOT_FOUND },
  },
  {
    ...{ section: '4.12', what: 'the board', method: 'GET', path: '/board', status: 200 },
    shape: { actions: 'array', signals: 'array', checkpoints: 'array', more: 'array' },
  },
  { section: '4.12', what: 'no board', method: 'GET', path: '/board?limit=0', ...INVALID },
  {
    ...{ section: '4.12', what: 'edges of no action', method: 'GET', path: '/actions/none/edges' },
    ...{ status: 200, holds: { edges: [] } },
  },
  {
    ...{ section: '4.12', what: 'edges with a limit', method: 'GET', path: '/actions/none/edges?limit=1' },
    ...{ status: 400, code: 'UNKNOWN_FIELD' },
  },
  ...forAdmins('/conflicts', { conflicts: 'array', count: 'number' }),
  ...forAdmins('/audit', { rows: 'array', count: 'number' }),
  ...forAdmins('/audit/verify', { chain_holds: 'boolean', rows_checked: 'number' }),
  ...forAdmins('/jobs', { jobs: 'array', count: 'number', totals: 'object' }),
  ...forAdmins('/doctor', { mode: 'string', sections: 'array', overall: 'string' }),
  {
    ...{ section: '4.1', what: 'take for others', method: 'POST', path: '/conflicts/take' },
    ...{ body: { id: '{v}', op_id: 'none' }, ...NO_ADMIN },
  },
  {
    ...{ section: '4.1', what: 'take what did not lose', method: 'POST', path: '/conflicts/take' },
    ...{ as: ROOT, body: { id: '{v}', op_id: 'none' }, ...NOT_FOUND },
  },
  ...['pause', 'resume', 'cancel'].flatMap((change): readonly EndpointRow[] => [
    {
      ...{ section: '4.1', what: `${change} jobs for others`, method: 'POST', path: `/jobs/${change}` },
      ...{ body: { all: true }, ...NO_ADMIN },
    },
    {
      ...{ section: '4.1', what: `${change} jobs`, method: 'POST', path: `/jobs/${change}`, as: ROOT },
      ...{ body: { all: true }, status: 200, holds: { changed: 0 } },
    },
  ]),
  ...forAdmins('/pending/remembered', { remembered: 'array', count: 'number' }),
];
