import { hostname } from 'node:os';
import { commandCaller, localIdentity } from '../../node/identity/local-caller.js';
import { systemClock, systemRandom, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { nodeAddress } from '../node-address.js';
import { onSignals } from '../signals.js';
import type { Terminal } from '../terminal.js';
import type { PendingChange, PendingSource } from './pending-source.js';
import { sentenceOf } from './screen.js';

/** Follows pending actions, and decides them. */
export const watchCommand = defineCommand({
  name: 'pending watch',
  summary: 'Show actions that wait for approval as they come, and decide them with a key.',
  flags: [
    {
      name: 'url',
      kind: 'value',
      value: 'address',
      doc: 'Follow another node, with the API key of SVC_API_KEY, as the agent of --agent-id',
    },
  ],
  examples: [
    'pending watch --agent-id ai:lead',
    'pending watch --json',
    'pending watch --url https://node.example:9077 --agent-id ai:lead',
  ],
  run: async (parsed, terminal) => {
    const url = flagValue(parsed, 'url');
    return url === undefined ? watchHere(parsed, terminal) : watchThere(parsed, url, terminal);
  },
});

async function watchThere(
  parsed: ParsedArguments,
  address: string,
  terminal: Terminal,
): Promise<Result<number>> {
  if (nodeAddress(address) === null) {
    return fail('VALIDATION_FAILED', '--url must be the address of a node, such as http://127.0.0.1:9077');
  }
  const { apiKey, agentId } = settingsFor(parsed);
  const agent = flagValue(parsed, 'agent-id') ?? agentId;
  const { createClient } = await import('../../node/client/index.js');
  const { nodeSource } = await import('./node-source.js');
  const client = createClient({
    url: address,
    ...(apiKey === null ? {} : { apiKey: apiKey.reveal() }),
    ...(agent === null ? {} : { agentId: agent }),
  });
  return watch(nodeSource(client, agent), parsed, terminal);
}

async function watchHere(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const settings = settingsFor(parsed);
  const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom);
  const viewer = commandCaller(identity, null);
  const voter = commandCaller(identity, flagValue(parsed, 'agent-id') ?? null);
  if (!viewer.ok) return failed(viewer.error);
  if (!voter.ok) return failed(voter.error);
  const { openRunner } = await import('../../node/runtime/open-runner.js');
  const { LocalSource } = await import('./local-source.js');
  const runner = openRunner(settings, async () => {
    const { NO_CATALOGUE, openInlineNode } = await import('../../node/runtime/inline-node.js');
    return openInlineNode(settings, 'cli', NO_CATALOGUE);
  });
  try {
    const callers = { viewer: viewer.value, voter: voter.value };
    return await watch(new LocalSource({ runner, ...callers, scheduler: systemScheduler }), parsed, terminal);
  } finally {
    await runner.close();
  }
}

/** Runs until a signal, the key `q`, a failure, or until its reader is gone. */
async function watch(
  source: PendingSource,
  parsed: ParsedArguments,
  terminal: Terminal,
): Promise<Result<number>> {
  onSignals(systemClock, () => source.stop());
  const isScreen = !isSet(parsed, 'json') && process.stdin.isTTY === true && process.stdout.isTTY === true;
  const ended = await (isScreen ? onScreen(source, terminal) : inLines(source, parsed, terminal));
  return ended.ok ? ok(0) : failed(ended.error);
}

async function onScreen(source: PendingSource, terminal: Terminal): Promise<Result<null>> {
  const { WatchKeys } = await import('./watch-keys.js');
  const keys = new WatchKeys(source, terminal, process.stdin, () => process.stdout.rows);
  await keys.begin();
  try {
    return await source.follow(
      (change) => keys.changed(change),
      () => void keys.read(),
    );
  } finally {
    await keys.end();
  }
}

/** What waits already, and then each change: one line each. */
async function inLines(
  source: PendingSource,
  parsed: ParsedArguments,
  terminal: Terminal,
): Promise<Result<null>> {
  /** Actions of which a line was printed; until what waits is known, also those that are decided. */
  const told = new Set<unknown>();
  let isListed = false;
  let failure: Result<never> | null = null;
  const print = (change: PendingChange) => {
    const { event, pending_id: id } = change;
    if (event === 'approval_requested' && told.has(id)) return;
    if (event === 'approval_requested' || !isListed) told.add(id);
    else told.delete(id);
    const line = isSet(parsed, 'json') ? JSON.stringify(change) : sentenceOf(change);
    void terminal.print(`${line}\n`).then(() => {
      if (terminal.closed) source.stop();
    });
  };
  const list = async () => {
    const waiting = await source.waiting();
    if (!waiting.ok) {
      failure = failed(waiting.error);
      source.stop();
      return;
    }
    for (const { id, action_type, namespace, requested_by, requested_at } of [...waiting.value].reverse()) {
      const what = { pending_id: id, action_type, namespace, requested_by, requested_at };
      print({ event: 'approval_requested', ...what });
    }
    isListed = true;
  };
  const ended = await source.follow(print, () => void list());
  return failure ?? ended;
}
