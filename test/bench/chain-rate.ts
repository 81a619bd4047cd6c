import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Workspace } from './workspace.js';

const ENTRY = fileURLToPath(new URL('./bare-chain.js', import.meta.url));
/** About the length of a call with a note of an agent. */
const LINE = `${JSON.stringify({ method: 'tools/call', filler: 'x'.repeat(400) })}\n`;

/** Lines per second that so many agents, each waiting for its answer, get through the bare chain. */
export async function chainRate(workspace: Workspace, agents: number, durationMs: number): Promise<number> {
  const folder = workspace.folder();
  const socketPath = join(folder, 'chain.sock');
  const start = (...args: string[]) =>
    workspace.adopt(spawn(process.execPath, [ENTRY, ...args], { stdio: ['pipe', 'pipe', 'inherit'] }));
  const daemon = start('daemon', socketPath, join(folder, 'chain.db'));
  await nextText(daemon);
  const running = Array.from({ length: agents }, () => start('agent', socketPath));
  const from = performance.now() + durationMs / 3;
  const until = from + durationMs;
  const counts = await Promise.all(running.map((agent) => linesBetween(agent, from, until)));
  for (const child of [...running, daemon]) child.kill('SIGKILL');
  return (counts.reduce((sum, count) => sum + count, 0) * 1000) / durationMs;
}

type Piped = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

async function linesBetween(agent: Piped, from: number, until: number): Promise<number> {
  agent.stdin.on('error', () => undefined);
  for (let count = 0; ; ) {
    const sent = performance.now();
    agent.stdin.write(LINE);
    await nextText(agent);
    if (performance.now() > until) return count;
    if (sent >= from) count += 1;
  }
}

/** Resolves with the next output of a process; rejects when it ends without one. */
function nextText({ stdout }: { readonly stdout: Readable }): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      stdout.off('data', onData);
      stdout.off('end', onEnd);
      act();
    };
    const onData = () => settle(resolve);
    const onEnd = () => settle(() => reject(new Error('a process of the bare chain ended')));
    stdout.on('data', onData);
    stdout.on('end', onEnd);
  });
}
