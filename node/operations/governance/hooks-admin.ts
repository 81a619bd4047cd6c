import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';

const shownHook = z.object({
  index: z.int().describe('Its place in hooks.toml'),
  event: z.string(),
  command: z.string(),
  mode: z.enum(['exec', 'daemon']),
  priority: z.int(),
  namespace: z.string(),
  fail_mode: z.enum(['open', 'closed']),
  timeout_ms: z.int(),
  events_fired: z.int(),
  events_dropped: z.int().describe('Runs without a decision: failed, too slow, or without room'),
  timeouts: z.int(),
  denied: z.int(),
  mean_latency_us: z.int(),
  last_problem: z.string().nullable(),
});

/** Lists the hooks that are in force, with their figures since they were registered. */
export const hookList = defineOperation({
  name: 'hook_list',
  family: 'governance',
  summary: 'List the hooks that are in force, with their figures.',
  input: z.object({}),
  output: z.object({
    count: z.int(),
    events_dropped: z.int().describe('What has happened and was not told to its hooks for lack of room'),
    problem: z.string().nullable().describe('Why hooks.toml as it is now is not in use'),
    hooks: z.array(shownHook),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/hooks', fields: 'query' }],
  cli: {
    command: 'hooks list',
    view: 'object',
    table: {
      ...{ index: 'HOOK', event: 'EVENT', command: 'COMMAND', mode: 'MODE', namespace: 'NAMESPACE' },
      ...{ events_fired: 'FIRED', events_dropped: 'DROPPED', denied: 'DENIED', mean_latency_us: 'MEAN US' },
    },
    examples: ['hooks list', 'hooks list --json'],
  },
  run: async (call) => {
    if (!isOperator(call)) return onlyOperators();
    const { hooks } = call.services;
    const rows = [...hooks.report()];
    return ok({ count: rows.length, events_dropped: hooks.dropped, problem: hooks.problem, hooks: rows });
  },
});

const shownQuestion = z.object({
  id: z.string(),
  hook_event: z.string(),
  namespace: z.string().nullable(),
  prompt: z.string(),
  options: z.array(z.string()),
  default: z.string().nullable(),
  command: z.string(),
  expires_at: z.string(),
});

/** Lists the questions of hooks that wait for an answer. */
export const hookQuestions = defineOperation({
  name: 'hook_questions',
  family: 'governance',
  summary: 'List the questions of hooks that wait for an answer.',
  input: z.object({}),
  output: z.object({ count: z.int(), questions: z.array(shownQuestion) }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/hooks/questions', fields: 'query' }],
  cli: {
    command: 'hooks questions',
    view: 'object',
    table: { id: 'ID', hook_event: 'EVENT', namespace: 'NAMESPACE', prompt: 'PROMPT', options: 'OPTIONS' },
    examples: ['hooks questions'],
  },
  run: async (call) => {
    if (!isOperator(call)) return onlyOperators();
    const open = call.services.hooks.questions?.list() ?? [];
    const questions = open.map((question) => ({ ...question, options: [...question.options] }));
    return ok({ count: questions.length, questions });
  },
});

/** Answers a question of a hook; the call that waits for it goes on, or is denied. */
export const hookAnswer = defineOperation({
  name: 'hook_answer',
  family: 'governance',
  summary: 'Answer a question of a hook.',
  input: z.object({
    id: z.string().max(64).describe('Id of the question, or its beginning'),
    answer: z
      .string()
      .min(1)
      .max(1024)
      .describe('One of its options; words such as no and deny refuse the call'),
  }),
  output: z.object({ answered: z.literal(true), id: z.string(), permitted: z.boolean() }),
  effect: 'write',
  quorum: 'none',
  guards: { admin: true, attestation: 'by-name' },
  delegable: 'never',
  http: [{ method: 'POST', path: '/hooks/questions/{id}', fields: 'body' }],
  cli: {
    command: 'hooks answer',
    positionals: ['id', 'answer'],
    view: 'message',
    message: ({ id, permitted }) => `${permitted === true ? 'permitted' : 'denied'}: ${id}`,
    examples: ['hooks answer 5b1f2c3d-0000-4000-8000-000000000000 allow'],
  },
  run: async (call, { id, answer }) => {
    if (!isOperator(call)) return onlyOperators();
    const { questions } = call.services.hooks;
    if (questions === null)
      return fail('NOT_FOUND', 'no question can be open: no daemon serves this database');
    const answered = questions.answer(id, answer);
    if (!answered.ok) return failed(answered.error);
    const { question, permitted } = answered.value;
    return ok({ answered: true as const, id: question.id, permitted });
  },
});

/** A process that is bound to an agent is not the operator's; prompts and problems can hold what other agents wrote. */
const isOperator = ({ caller }: ReadCall): boolean => caller.admin || caller.viewer.all;

const onlyOperators = () =>
  fail('ADMIN_REQUIRED', 'admin role required: hooks are the matter of the operator');
