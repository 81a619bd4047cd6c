import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { Answer } from './answer.js';
import type { Call, ReadCall, Services } from './call.js';
import type { Operation } from './operation.js';
import type { OperationHooks } from './operation-hooks.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';

type Fields = Readonly<Record<string, unknown>>;
type AnyHooks = OperationHooks<Fields>;

/** What the hooks before an operation leave of its call. */
export type Hooked =
  | { readonly kind: 'run'; readonly input: Fields; readonly isRewritten: boolean; readonly seen: unknown }
  | { readonly kind: 'answer'; readonly answer: Answer };

/** The events around an operation; null when no hook of this process has one of them. */
export function hooksOf(operation: Operation, { hooks }: Pick<Services, 'hooks'>): AnyHooks | null {
  const around = operation.hooks as AnyHooks | undefined;
  if (around === undefined) return null;
  const { pre = [], post = [] } = around;
  return [...pre, ...post].some(({ event }) => hooks.has(event)) ? around : null;
}

/** Members of a memory that its author signs. */
const SIGNED = ['namespace', 'title', 'content'];

/** Runs the hooks before an operation, event by event; a later event sees what the hooks of an earlier one rewrote. */
export async function beforeRun(
  around: AnyHooks,
  run: HookRun,
  call: Call,
  begun: { readonly input: Fields; readonly given: Fields },
  parse: (given: Fields) => Result<Fields>,
): Promise<Hooked> {
  const looked = (await around.look?.(call, begun.input)) ?? ok(undefined);
  if (!looked.ok) return { kind: 'answer', answer: failed(looked.error) };
  const seen = looked.value;
  let { input, given } = begun;
  let isRewritten = false;
  for (const { event, firings, apply } of around.pre ?? []) {
    if (!run.hooks.has(event)) continue;
    for (const [at, firing] of firings(input, seen, call).entries()) {
      const verdict = await consult(run, { event, ...firing });
      if ('denial' in verdict) {
        const { denial } = verdict;
        const isPolite = around.denied !== undefined && !denial.busy;
        const answer = isPolite
          ? ok({ ...around.denied!(call, input, denial) })
          : failed(vetoOf(event, denial));
        return { kind: 'answer', answer };
      }
      if (apply === undefined || Object.keys(verdict.delta).length === 0) continue;
      const broken = breaksSignature(given, verdict.delta);
      if (broken !== null) return { kind: 'answer', answer: broken };
      given = apply(given, verdict.delta, at, input);
      isRewritten = true;
    }
    if (!isRewritten) continue;
    // A hook cannot write what a caller could not.
    const parsed = parse(given);
    if (!parsed.ok) return { kind: 'answer', answer: failed(rewritten(event, parsed.error)) };
    input = parsed.value;
  }
  return { kind: 'run', input, isRewritten, seen };
}

function rewritten(event: string, { code, message, details }: Parameters<typeof failed>[0]) {
  return {
    code,
    message: `a hook of ${event} rewrote the call, and now ${message}`,
    ...(details && { details }),
  };
}

/** The author's signature would not be one of what is stored. */
function breaksSignature(given: Fields, delta: HookPayload): Answer | null {
  const touched = SIGNED.filter((field) => Object.hasOwn(delta, field));
  if (typeof given['signature'] !== 'string' || touched.length === 0) return null;
  return fail(
    'ATTESTATION_FAILED',
    `a hook rewrote ${touched.join(', ')}, which the author has signed: send the write without a signature, or as the hook wants it`,
    { fields: touched },
  );
}

/** Tells the hooks after an operation, behind the call. */
export function afterRun(
  around: AnyHooks,
  { hooks }: Pick<HookRun, 'hooks'>,
  call: ReadCall,
  done: { readonly answer: Fields; readonly input: Fields; readonly seen: unknown },
): void {
  for (const { event, firings } of around.post ?? []) {
    if (!hooks.has(event)) continue;
    hooks.later({
      bytes: heldBytes(done.answer) + heldBytes(done.input),
      firings: async () => (await firings({ ...done, call })).map((firing) => ({ event, ...firing })),
    });
  }
}

const ROW_BYTES = 1024;

/** About how many bytes a value keeps alive: the texts of an answer and of its rows. */
function heldBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, row) => sum + heldBytes(row), 0);
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = ROW_BYTES;
  for (const member of Object.values(value)) {
    if (typeof member === 'string') bytes += member.length;
    else if (Array.isArray(member)) bytes += heldBytes(member);
  }
  return bytes;
}
