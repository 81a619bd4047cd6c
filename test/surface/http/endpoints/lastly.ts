import { type EndpointRow, memory, NOT_FOUND } from './row.js';

export const lastly: readonly EndpointRow[] = [
  {
    section: '4.2',
    what: "delete another's",
    method: 'DELETE',
    path: '/memories/{b}',
    as: 'ai:bob',
    status: 403,
    code: 'FORBIDDEN',
  },
  {
    section: '4.2',
    what: 'delete',
    method: 'DELETE',
    path: '/memories/{b}',
    status: 200,
    holds: { deleted: true },
  },
  {
    section: '4.9',
    what: 'without a signature',
    method: 'POST',
    path: '/approvals/{b}',
    body: { decision: 'approve' },
    status: 401,
    code: 'UNAUTHORIZED',
  },
  { section: '4.2', what: 'delete again', method: 'DELETE', path: '/memories/{b}', ...NOT_FOUND },
];

export const toConsolidate: readonly EndpointRow[] = ['c', 'd'].map((name) => ({
  section: '4.2',
  what: `create ${name}`,
  method: 'POST',
  path: '/memories',
  body: memory(`Part ${name}`),
  status: 201,
  keep: name,
}));
