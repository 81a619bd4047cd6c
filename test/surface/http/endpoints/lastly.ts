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
  {
    section: '4.2',
    what: "erase another's",
    method: 'DELETE',
    path: '/memories/{b}?erase=true',
    as: 'ai:bob',
    status: 403,
    code: 'FORBIDDEN',
  },
  {
    section: '4.2',
    what: 'erase from the archive',
    method: 'DELETE',
    path: '/memories/{b}?erase=true',
    status: 200,
    holds: { deleted: true, erased: true },
  },
  {
    section: '4.2',
    what: 'see where it is erased',
    method: 'GET',
    path: '/erasures',
    status: 200,
    holds: { members: 1 },
  },
  {
    section: '4.2',
    what: 'see too many erasures',
    method: 'GET',
    path: '/erasures?limit=0',
    status: 400,
    code: 'VALIDATION_FAILED',
  },
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
