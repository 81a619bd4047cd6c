import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import type { AuditRow } from '../../../protocol/log/audit.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const ROWS = 100;
const ROWS_MAX = 1000;

/** The rows of the audit chain. Only over HTTP, for the console; `verify_signed_events_chain` says whether they hold. */
export const auditList = defineOperation({
  name: 'audit_list',
  family: 'governance',
  summary: 'List rows of the audit chain, the newest first.',
  input: z.object({
    before: z.int().min(1).optional().describe('Only rows before this sequence'),
    limit: fields.listLimit(ROWS, ROWS_MAX),
  }),
  output: z.object({
    rows: z.array(
      z.object({
        sequence: z.int(),
        event_type: z.string(),
        agent_id: z.string(),
        timestamp: z.string(),
        attest_level: z.string(),
        signed: z.boolean(),
        payload: z.string().nullable().describe('Canonical JSON'),
      }),
    ),
    count: z.int(),
    next_before: z.int().optional().describe('There are more rows: give this as before'),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/audit', fields: 'query' }],
  run: async (call, { before, limit }) => {
    const asked = { kind: 'newest-audit-rows', ...(before === undefined ? {} : { before }), limit } as const;
    const found = await call.services.store.query(asked);
    if (!found.ok) return failed(found.error);
    const rows = found.value.rows.map(shown);
    const last = rows.at(-1)?.sequence ?? 1;
    return ok({ rows, count: rows.length, ...(last > 1 ? { next_before: last } : {}) });
  },
});

const shown = ({
  sequence,
  event_type,
  agent_id,
  timestamp,
  attest_level,
  signature,
  payload,
}: AuditRow) => ({
  ...{ sequence, event_type, agent_id, timestamp, attest_level, payload },
  signed: signature !== null,
});
