import { z } from 'zod';
import { NO_HOOKS } from '../../../actors/hooks/hooks.js';
import type { Caller } from '../../../node/identity/caller.js';
import type { Services } from '../../../node/pipeline/call.js';
import { defineOperation, type Guards, type Operation } from '../../../node/pipeline/operation.js';
import { ok } from '../../../protocol/base/result.js';
import { tenant } from '../../support/memories.js';

/** An operation with an input of every kind, to try the pipeline on. */
export function anOperation(changes: {
  readonly input?: z.ZodObject;
  readonly guards?: Guards;
  readonly run?: Operation<z.ZodObject, z.ZodType, 'write'>['run'];
}): Operation {
  return defineOperation({
    name: 'memory_try',
    family: 'other',
    summary: 'Try the pipeline.',
    input: changes.input ?? z.object({}),
    output: z.looseObject({}),
    effect: 'write',
    guards: changes.guards ?? {},
    run: (changes.run ?? (() => Promise.resolve(ok({ done: true })))) as never,
  });
}

export function aCaller(changes: Partial<Caller> = {}): Caller {
  const agentId = 'ai:me';
  return { agentId, claimed: 'explicit', viewer: tenant(agentId), admin: false, local: false, ...changes };
}

/** No rule keeps anything from a caller. */
const NO_RULES = { limited: (caller: Caller) => Promise.resolve(ok(caller)) } as unknown as Services['reads'];

/** Nothing is screened. */
const NO_SCREEN = { isOn: false } as unknown as Services['screen'];

/** Services of which an operation under test uses only those that are given. */
export function someServices(parts: Partial<Services>): Services {
  return { hooks: NO_HOOKS, reads: NO_RULES, screen: NO_SCREEN, ...parts } as Services;
}
