import { type EndpointRow, INVALID, NOT_FOUND } from './row.js';

const to: Pick<EndpointRow, 'section' | 'method' | 'path'> = {
  section: '4.12',
  method: 'POST',
  path: '/signals',
};
const body = { namespace: 'team/signals', subject: 'branch parser is ready' };

export const signals: readonly EndpointRow[] = [
  {
    ...{ ...to, what: 'send a signal', status: 200 },
    body: { ...body, to_agent: 'ai:carol', body: { branch: 'parser' }, correlation_id: 'c', ttl_secs: 60 },
    shape: { id: 'string', created_at: 'number' },
    holds: { namespace: 'team/signals', from_agent: 'ai:alice', signal_type: 'notify' },
  },
  {
    ...{ ...to, what: 'send a signal to all agents of a namespace', body, status: 200 },
    holds: { from_agent: 'ai:alice' },
  },
  {
    ...{ ...to, what: 'send a signal of no type', body: { ...body, signal_type: 'shout' } },
    ...INVALID,
  },
  {
    ...{ ...to, what: 'send a signal without a name', body, as: null },
    ...{ status: 403, code: 'FORBIDDEN' },
  },
  {
    ...{ ...to, what: 'send a signal in the name of another' },
    body: { ...body, agent_id: 'ai:mallory' },
    ...{ status: 403, code: 'agent_id_body_header_mismatch' },
  },
  {
    ...{ ...to, what: 'name the sender of a signal', body: { ...body, from_agent: 'ai:mallory' } },
    ...{ status: 400, code: 'UNKNOWN_FIELD' },
  },
];

const move: Pick<EndpointRow, 'section' | 'method' | 'path'> = {
  section: '4.12',
  method: 'POST',
  path: '/actions/nothing/transition',
};

export const actions: readonly EndpointRow[] = [
  { ...{ ...move, what: 'move an action that is not there', body: { to: 'claimed' } }, ...NOT_FOUND },
  { ...{ ...move, what: 'move an action to no state', body: { to: 'finished' } }, ...INVALID },
  {
    ...{ ...move, what: 'claim an action for another', body: { to: 'claimed', claimed_by: 'ai:mallory' } },
    ...{ status: 403, code: 'FORBIDDEN' },
  },
  {
    ...{ ...move, what: 'claim an action without a name', body: { to: 'claimed' }, as: null },
    ...{ status: 403, code: 'FORBIDDEN' },
  },
];
