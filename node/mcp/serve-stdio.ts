import type { Readable, Writable } from 'node:stream';
import { PARENT_POLL_MS } from '../../protocol/base/limits.js';
import type { Scheduler, Timer } from '../../protocol/base/seams.js';
import type { Profile } from '../config/tool-profile.js';
import type { LocalIdentity } from '../identity/local-caller.js';
import { CaptureNag, type NagThresholds } from './capture-nag.js';
import { LineTransport } from './line-transport.js';
import { type LocalTools, localAccess } from './local-access.js';
import { createMcpServer } from './mcp-server.js';
import { NodeTools, type ProfileHints } from './node-tools.js';

export interface StdioSession {
  readonly profile: Profile;
  readonly identity: LocalIdentity;
  readonly runner: LocalTools;
  readonly nag: NagThresholds;
  readonly hints: ProfileHints;
  readonly input: Readable;
  readonly output: Writable;
  readonly scheduler: Scheduler;
  /** The id of the parent process; when it changes, the parent is gone. */
  readonly parentPid: () => number;
  /** Aborted when the process must end. */
  readonly stop: AbortSignal;
  /** How long the shutdown waits for current calls and for answers to be read. */
  readonly graceMs: number;
}

/**
 * Serves one MCP client until its stream ends or breaks, its process is gone, or `stop` is aborted. Requests already
 * taken are answered before the node closes. Resolves when everything is closed.
 */
export async function serveStdio(session: StdioSession): Promise<void> {
  const transport = new LineTransport(session.input, session.output);
  const access = localAccess(session.runner, session.identity);
  const tools = new NodeTools(session.profile, access, new CaptureNag(session.nag), session.hints);
  const server = createMcpServer(tools);
  let parentPoll: Timer | null = null;

  await new Promise<void>((resolve, reject) => {
    transport.onend = () => resolve();
    if (session.stop.aborted) resolve();
    session.stop.addEventListener('abort', () => resolve(), { once: true });
    const parent = session.parentPid();
    const watchParent = () => {
      if (session.parentPid() !== parent) resolve();
      else parentPoll = session.scheduler.after(PARENT_POLL_MS, watchParent);
    };
    watchParent();
    // The handshake comes first; the node opens in the background.
    server.oninitialized = () => tools.warmUp();
    server.connect(transport).catch(reject);
  });

  (parentPoll as Timer | null)?.cancel();
  transport.stopReading();
  await within(transport.settled(), session.graceMs, session.scheduler);
  await server.close();
  await within(tools.close(), session.graceMs, session.scheduler);
}

function within(work: Promise<void>, graceMs: number, scheduler: Scheduler): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = scheduler.after(graceMs, resolve, { keepAlive: true });
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
