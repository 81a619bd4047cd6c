import { type EndpointRow, INVALID } from './row.js';

const capture: Pick<EndpointRow, 'section' | 'method' | 'path'> = {
  section: '4.12',
  method: 'POST',
  path: '/capture_turn',
};
const body = { host_session_id: 's-endpoints', host_turn_index: 1, role: 'user', content: 'a turn' };

export const transcripts: readonly EndpointRow[] = [
  {
    ...{ ...capture, what: 'store a turn', body, status: 201 },
    shape: { memory_id: 'string' },
    holds: { dedup_hit: false, layer: 'L4', attest_level: 'self_signed' },
  },
  {
    ...{ ...capture, what: 'store a turn again', body, status: 200 },
    holds: { dedup_hit: true, layer: 'L4' },
  },
  {
    ...{ ...capture, what: 'store another text as the same turn', body: { ...body, content: 'other' } },
    ...{ status: 409, code: 'TURN_CONFLICT' },
  },
  { ...{ ...capture, what: 'store a turn of no role', body: { ...body, role: 'narrator' } }, ...INVALID },
  {
    ...{ ...capture, what: 'store a turn with half a signature' },
    ...{ body: { ...body, host_pubkey_b64: 'AAAA' }, ...INVALID },
  },
  {
    ...{ ...capture, what: 'store a turn of a host that is not enrolled', status: 400 },
    body: { ...body, host_turn_index: 2, host_pubkey_b64: 'A'.repeat(43), host_signature_b64: 'A' },
    code: 'HOST_PUBKEY_NOT_ENROLLED',
  },
  {
    ...{ ...capture, what: 'store a turn in the name of another' },
    body: { ...body, metadata: { agent_id: 'ai:mallory' } },
    ...{ status: 403, code: 'agent_id_body_header_mismatch' },
  },
  {
    ...{ section: '4.12', method: 'POST', path: '/memory_replay', what: 'replay a memory that is not there' },
    body: { memory_id: 'no-such-memory' },
    status: 200,
    holds: { memory_id: 'no-such-memory', transcripts: [], count: 0 },
  },
  {
    ...{ section: '4.12', method: 'POST', path: '/memory_replay', what: 'replay half a hop' },
    ...{ body: { memory_id: 'm', depth: 0.5 }, ...INVALID },
  },
];
