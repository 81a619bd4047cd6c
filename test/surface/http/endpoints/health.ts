import { type EndpointRow, NO_ADMIN, ROOT } from './row.js';

export const health: readonly EndpointRow[] = [
  {
    section: '4.1',
    what: 'health needs no name',
    method: 'GET',
    path: '/health',
    as: null,
    status: 200,
    shape: { status: 'string', service: 'string' },
    holds: { status: 'ok' },
  },
  {
    section: '4.1',
    what: 'health without the prefix',
    method: 'GET',
    path: '/health',
    bare: true,
    status: 200,
  },
  { section: '4.1', what: 'metrics', method: 'GET', path: '/metrics', status: 200, shape: 'text' },
  {
    section: '4.1',
    what: 'metrics without the prefix',
    method: 'GET',
    path: '/metrics',
    bare: true,
    status: 200,
    shape: 'text',
  },
  {
    section: '4.1',
    what: 'stats for an admin',
    method: 'GET',
    path: '/stats',
    as: ROOT,
    status: 200,
    shape: {
      total: 'number',
      by_tier: [{ tier: 'string', count: 'number' }],
      by_namespace: [{ namespace: 'string', count: 'number' }],
      expiring_soon: 'number',
      links_count: 'number',
      db_size_bytes: 'number',
    },
  },
  { section: '4.1', what: 'stats for others', method: 'GET', path: '/stats', ...NO_ADMIN },
];
