import { hostname } from 'node:os';
import type { Caller } from '../node/identity/caller.js';
import { commandCaller, localIdentity } from '../node/identity/local-caller.js';
import type { LocalRunner } from '../node/local/local-runner.js';
import type { Services } from '../node/pipeline/call.js';
import { NO_CATALOGUE, openInlineNode } from '../node/runtime/inline-node.js';
import { openRunner } from '../node/runtime/open-runner.js';
import { systemRandom } from '../node/seams.js';
import { failed, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { flagValue, settingsFor } from './global-flags.js';

/** Runs a native command on the node's own files, as the caller that its flags and environment name. */
export async function withLocalNode(
  parsed: ParsedArguments,
  run: (services: Services, caller: Caller) => Promise<Result<number>>,
): Promise<Result<number>> {
  const settings = settingsFor(parsed);
  const node = await openInlineNode(settings, 'cli', NO_CATALOGUE);
  try {
    const { services } = node;
    const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, services.random);
    const caller = commandCaller(identity, flagValue(parsed, 'agent-id') ?? null);
    return caller.ok ? await run(services, caller.value) : failed(caller.error);
  } finally {
    await node.close();
  }
}

/** Runs a native command on operations, through the daemon where one serves the database. */
export async function withLocalRunner<T = number>(
  parsed: ParsedArguments,
  run: (runner: LocalRunner, caller: Caller) => Promise<Result<T>>,
): Promise<Result<T>> {
  const settings = settingsFor(parsed);
  const runner = openRunner(settings, () => openInlineNode(settings, 'cli', NO_CATALOGUE));
  try {
    const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom);
    const caller = commandCaller(identity, flagValue(parsed, 'agent-id') ?? null);
    return caller.ok ? await run(runner, caller.value) : failed(caller.error);
  } finally {
    await runner.close();
  }
}
