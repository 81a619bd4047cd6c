import { type EndpointRow, NO_ADMIN, NOT_FOUND, ROOT } from './row.js';

/** An answered question needs a hook that asks: test/surface/hooks.test.ts. */
export const hooks: readonly EndpointRow[] = [
  {
    section: '6.2',
    what: 'the hooks in force',
    method: 'GET',
    path: '/hooks',
    as: ROOT,
    status: 200,
    holds: { count: 0, events_dropped: 0, problem: null, hooks: [] },
  },
  { section: '6.2', what: 'hooks for others', method: 'GET', path: '/hooks', ...NO_ADMIN },
  {
    section: '6.2',
    what: 'open questions',
    method: 'GET',
    path: '/hooks/questions',
    as: ROOT,
    status: 200,
    holds: { count: 0, questions: [] },
  },
  { section: '6.2', what: 'questions for others', method: 'GET', path: '/hooks/questions', ...NO_ADMIN },
  {
    section: '6.2',
    what: 'answer what is not asked',
    method: 'POST',
    path: '/hooks/questions/none',
    as: ROOT,
    body: { answer: 'allow' },
    ...NOT_FOUND,
  },
];
