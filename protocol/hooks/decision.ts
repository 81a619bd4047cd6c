import { decides, type HookEvent, hookEventRow } from './events.js';

export type HookPayload = Readonly<Record<string, unknown>>;

/** What a hook asks the operator. */
export interface HookAsk {
  readonly prompt: string;
  readonly options: readonly string[];
  /** The answer that counts when no operator gives one in time; null denies. */
  readonly default: string | null;
}

/** What a hook decides (reference-mcp-cli §3.2). */
export type HookDecision =
  | { readonly action: 'allow' }
  /** `delta` has the names of the payload. */
  | { readonly action: 'modify'; readonly delta: HookPayload }
  | { readonly action: 'deny'; readonly reason: string; readonly code: number }
  | { readonly action: 'ask_user'; readonly ask: HookAsk };

export const HOOK_DENY_CODE = 403;
/** A hook that is fail-closed and had no time left. */
export const HOOK_TIMEOUT_CODE = 504;
/** A hook that is fail-closed and failed. */
export const HOOK_FAILED_CODE = 503;

const TEXT_LENGTH_MAX = 1024;
const OPTIONS_MAX = 16;

const ALLOW: HookDecision = { action: 'allow' };

/** A decision, null for a hook that has nothing to say, or why the output of a hook is none. */
export type Decoded =
  | { readonly decision: HookDecision | null; readonly warning?: string }
  | { readonly problem: string };

const isObject = (value: unknown): value is HookPayload =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isWord = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
const bounded = (text: string): string => [...text].slice(0, TEXT_LENGTH_MAX).join('');

/** Reads what a hook wrote to its standard output. Nothing, and an object without members, decide nothing. */
export function decodeDecision(text: string, event: HookEvent): Decoded {
  if (text.trim() === '') return { decision: null };
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return { problem: 'its output is not JSON' };
  }
  if (!isObject(said)) return { problem: 'its output is not a JSON object' };
  if (Object.keys(said).length === 0) return { decision: null };
  switch (said['action']) {
    case undefined:
      return { problem: 'its output has no action' };
    case 'allow':
      return { decision: ALLOW };
    case 'modify':
      return modified(said['delta'], event);
    case 'deny':
      return denied(said, event);
    case 'ask_user':
      return asked(said, event);
    default:
      return { problem: 'its action is not allow, modify, deny or ask_user' };
  }
}

function modified(delta: unknown, event: HookEvent): Decoded {
  if (!isObject(delta)) return { problem: 'its modify has no delta' };
  const { rewrites, deltaNames = {} } = hookEventRow(event);
  if (rewrites.length === 0) return { decision: ALLOW, warning: `nothing of ${event} can be rewritten` };
  const named: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(delta)) {
    const name = Object.hasOwn(deltaNames, key) ? deltaNames[key]! : key;
    if (!rewrites.includes(name)) return { problem: `its delta has a member that ${event} does not rewrite` };
    // As the reference has it, a priority that cannot be a number of rows says nothing.
    if (name === 'k' && !(typeof value === 'number' && value > 0)) continue;
    named[name] = value;
  }
  return { decision: { action: 'modify', delta: named } };
}

function denied({ reason, code = HOOK_DENY_CODE }: HookPayload, event: HookEvent): Decoded {
  if (!isWord(reason)) return { problem: 'its deny has no reason' };
  if (!Number.isInteger(code)) return { problem: 'the code of its deny is not a whole number' };
  if (!decides(event)) return { decision: ALLOW, warning: `${event} has happened and cannot be denied` };
  return { decision: { action: 'deny', reason: bounded(reason), code: code as number } };
}

function asked({ prompt, options, default: usual }: HookPayload, event: HookEvent): Decoded {
  if (!isWord(prompt)) return { problem: 'its ask_user has no prompt' };
  const isList = Array.isArray(options) && options.length <= OPTIONS_MAX && options.every(isWord);
  if (!isList)
    return { problem: `the options of its ask_user are not a list of at most ${OPTIONS_MAX} words` };
  if (usual !== undefined && usual !== null && !isWord(usual))
    return { problem: 'the default of its ask_user is not a word' };
  if (!decides(event)) return { decision: ALLOW, warning: `${event} has happened and asks nothing` };
  const ask = {
    prompt: bounded(prompt),
    options: options.map((option) => bounded(option)),
    default: isWord(usual) ? bounded(usual) : null,
  };
  return { decision: { action: 'ask_user', ask } };
}

/** Words that mean a denial; every other answer to a question permits. */
const DENY_WORDS: ReadonlySet<string> = new Set([
  ...['deny', 'no', 'n', 'reject', 'refuse', 'block', 'cancel', 'stop', 'abort', 'false'],
]);

/** Whether an answer to a question lets the call go on. */
export const permits = (answer: string): boolean => !DENY_WORDS.has(answer.trim().toLowerCase());
