import type { HookDenial } from '../../actors/hooks/hook-chain.js';
import type { Result } from '../../protocol/base/result.js';
import type { ToldEvent } from '../../protocol/decide/told.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { ReadCall } from './call.js';

type Fields = Readonly<Record<string, unknown>>;

/** What hooks of an event are told: the namespace is what their pattern is compared with; null for none. */
export interface Firing {
  readonly namespace: string | null;
  readonly payload: HookPayload;
}

/** An event whose hooks decide before an operation runs. */
export interface PreEvent<Input, Seen> {
  readonly event: HookEvent;
  /** One for each thing that the call is about. None for a call that the operation refuses or that has no effect. */
  readonly firings: (input: Input, seen: Seen, call: ReadCall) => readonly Firing[];
  /** The fields of the call, as its surface gave them, with what the hooks rewrote for the firing at a place. */
  readonly apply?: (given: Fields, delta: HookPayload, at: number, input: Input) => Fields;
}

/** An event that tells of what an operation has read, after its answer. What was written is told of its command. */
export interface PostEvent<Input, Seen> {
  readonly event: Exclude<HookEvent, ToldEvent>;
  /** Runs behind the call, so it may read. */
  readonly firings: (done: {
    readonly answer: Fields;
    readonly input: Input;
    readonly seen: Seen;
    readonly call: ReadCall;
  }) => readonly Firing[] | Promise<readonly Firing[]>;
}

/** The hook events around an operation. */
export interface OperationHooks<Input, Seen = unknown> {
  /** Reads what the payloads need; asked only when a hook has one of the events. A failure answers the call. */
  readonly look?: (call: ReadCall, input: Input) => Promise<Result<Seen>>;
  readonly pre?: readonly PreEvent<Input, Seen>[];
  readonly post?: readonly PostEvent<Input, Seen>[];
  /** The answer to a call that a hook denies; HOOK_VETO unless given. */
  readonly denied?: (call: ReadCall, input: Input, denial: HookDenial) => Fields;
}

/** The events around an operation, with the types of their parts checked against each other. */
export const aroundOperation = <Input, Seen = undefined>(
  hooks: OperationHooks<Input, Seen>,
): OperationHooks<Input> => hooks as unknown as OperationHooks<Input>;
