import { z } from 'zod';
import { RECALL_LIMIT_MAX, TTL_CONFIGURED_SECONDS_MAX } from '../../protocol/base/limits.js';
import { TIERS } from '../../protocol/memory/memory.js';
import type { Settings } from '../config/settings.js';
import { FAMILIES } from '../config/tool-families.js';
import type { Answer } from '../pipeline/answer.js';
import { agentId, namespace } from '../pipeline/fields.js';

/**
 * What processes of one user say to the daemon over its local socket, and what it answers: JSON lines. The first line
 * is a greeting; then each call has an id, and its answer the same one.
 */

/** Both ends must speak the same form; a process that meets another one works without the daemon. */
export const LOCAL_PROTOCOL = 4;

/** Null: for ever. */
const seconds = z.int().positive().max(TTL_CONFIGURED_SECONDS_MAX).nullable();

/** Settings of the calling process that count for its calls, because they say what the caller leaves out. */
const callerSettings = z.strictObject({
  defaultNamespace: namespace,
  shortTtlSeconds: seconds,
  midTtlSeconds: seconds,
  longTtlSeconds: seconds,
  archiveOnGc: z.boolean(),
  requireAttestation: z.boolean(),
  requireAttestationEverywhere: z.boolean(),
  recallScopeNamespaces: z.array(namespace),
  recallScopeSince: z.string().max(64).nullable(),
  recallScopeTier: z.enum(TIERS).nullable(),
  recallScopeLimit: z.int().min(1).max(RECALL_LIMIT_MAX).nullable(),
});

export type CallerSettings = Pick<Settings, keyof z.output<typeof callerSettings>>;

/** The settings of a process that travel with its calls. */
export function callerSettingsOf(settings: Settings): CallerSettings {
  const keys = Object.keys(callerSettings.shape) as (keyof CallerSettings)[];
  return Object.fromEntries(keys.map((key) => [key, settings[key]])) as unknown as CallerSettings;
}

export const greetingSchema = z.strictObject({
  protocol: z.number(),
  version: z.string().max(64),
  /** Files of the process; a daemon on other files refuses it. */
  dbPath: z.string().max(4096),
  keyDir: z.string().max(4096),
  settings: callerSettings,
});

export type Greeting = Omit<z.output<typeof greetingSchema>, 'settings'> & {
  readonly settings: CallerSettings;
};

export const callSchema = z.strictObject({
  id: z.int().nonnegative(),
  operation: z.string().max(64),
  surface: z.enum(['mcp', 'cli']),
  caller: z.strictObject({
    agentId,
    claimed: z.enum(['explicit', 'configured', 'made']),
    viewer: z.strictObject({
      all: z.boolean(),
      agentId: agentId.nullable(),
      asNamespace: namespace.nullable(),
    }),
    admin: z.boolean(),
    local: z.literal(true),
  }),
  input: z.record(z.string(), z.unknown()),
  unknownFields: z.enum(['refuse', 'ignore']),
  profile: z.array(z.enum(FAMILIES)).min(1).max(FAMILIES.length).readonly().optional(),
  key: z.uuid(),
  traceparent: z.string().max(256).optional(),
  again: z.boolean(),
});

export type LocalCall = z.output<typeof callSchema>;

/** Gives a call up: it is answered all the same. */
export const cancelSchema = z.strictObject({ cancel: z.int().nonnegative() });

/** What a process says after its greeting. */
export const lineSchema = z.union([callSchema, cancelSchema]);

/** The answer to a greeting; `refused` says why the process must work without this daemon. */
export type GreetingReply = { readonly protocol: number } | { readonly refused: string };

/** A line from the daemon: the answer of a call, or how far it is. */
export type LocalReply =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly progress: readonly [done: number, of: number | null] };
