import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { TOKEN_OPERATIONS } from '../../identity/token-text.js';
import { defineOperation } from '../../pipeline/operation.js';
import { NAMESPACES_MAX, SECS_MAX, tokenPattern } from './token-fields.js';

const token = z.string().min(1).describe('The token');

const said = {
  token_id: z.string(),
  agent_id: z.string(),
  operations: z.array(z.string()),
  namespaces: z.array(z.string()),
  not_before: z.string().describe('Where it begins to count later').optional(),
  expires_at: z.string(),
  minted_by: z.string(),
  root: z.string().describe('Public key of the node that minted it'),
  revocation_ids: z.array(z.string()),
};

/** Says what a token permits and whether it counts here. Only over HTTP, for the console; the command line needs no node. */
export const tokenInspect = defineOperation({
  name: 'token_inspect',
  family: 'governance',
  summary: 'Show what a token permits, and whether it counts on this node.',
  input: z.object({ token }),
  output: z.object({
    ...said,
    counts: z.boolean().describe('This node takes it now'),
    problem: z.string().nullable().describe('Why it does not count'),
  }),
  effect: 'read',
  guards: {},
  delegable: 'never',
  http: [{ method: 'POST', path: '/tokens/inspect', fields: 'body' }],
  run: async ({ services }, { token: text }) => {
    const [{ readToken, tokenFacts }, { tokenProblem, verifiedHere }] = await Promise.all([
      import('../../identity/tokens.js'),
      import('../../pipeline/token-problem.js'),
    ]);
    const read = await readToken(text.trim());
    if (!read.ok) return failed(read.error);
    const verified = await verifiedHere(services, text.trim());
    const problem = verified.ok ? await tokenProblem(services, verified.value) : verified.error;
    return ok({
      ...tokenFacts(read.value),
      counts: problem === null,
      problem: problem === null ? null : problem.message,
    });
  },
});

/** Makes a token that permits less. Only over HTTP, for the console; the command line needs no node. */
export const tokenNarrow = defineOperation({
  name: 'token_narrow',
  family: 'governance',
  summary: 'Make a token that permits less than another one.',
  input: z.object({
    token,
    operations: z
      .array(z.enum(TOKEN_OPERATIONS))
      .min(1)
      .describe('What is left of read, write, admin')
      .optional(),
    namespaces: z.array(tokenPattern).min(1).max(NAMESPACES_MAX).describe('Where it is left').optional(),
    expires_secs: z
      .int()
      .min(1)
      .max(SECS_MAX)
      .describe('Seconds from now until it expires, if it does not before')
      .optional(),
  }),
  output: z.object({ token: z.string().describe('The narrower token; the other one still counts'), ...said }),
  effect: 'read',
  guards: {},
  delegable: 'never',
  http: [{ method: 'POST', path: '/tokens/narrow', fields: 'body' }],
  run: async (call, { token: text, operations, namespaces, expires_secs }) => {
    if ((operations ?? namespaces ?? expires_secs) === undefined) {
      return fail('VALIDATION_FAILED', 'say what to take away: operations, namespaces or expires_secs', {
        fields: ['operations', 'namespaces', 'expires_secs'],
      });
    }
    const { narrowToken, readToken, tokenFacts } = await import('../../identity/tokens.js');
    const expiresS = expires_secs === undefined ? undefined : Math.floor(call.nowMs / 1000) + expires_secs;
    const narrowed = await narrowToken(text.trim(), { operations, namespaces, expiresS });
    if (!narrowed.ok) return failed(narrowed.error);
    const read = await readToken(narrowed.value);
    return read.ok ? ok({ token: narrowed.value, ...tokenFacts(read.value) }) : failed(read.error);
  },
});
