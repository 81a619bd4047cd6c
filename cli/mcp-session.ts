import { hostname } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { Settings } from '../node/config/settings.js';
import { profileOf } from '../node/config/tool-profile.js';
import { systemRandom, systemScheduler } from '../node/seams.js';

/** What is around a session of MCP. */
export interface SessionAround {
  readonly input: Readable;
  readonly output: Writable;
  /** Aborted when the session must end. */
  readonly stop: AbortSignal;
  readonly pid: number;
  /** The process that started this one; when it changes, the parent is gone. */
  readonly parentPid: () => number;
  /** Hears how the file of hooks is read again. */
  readonly onReload?: (reload: () => void) => void;
}

/** Serves one MCP client over a pair of streams until its end. */
export async function serveSession(settings: Settings, around: SessionAround): Promise<void> {
  const { localIdentity } = await import('../node/identity/local-caller.js');
  const { openRunner } = await import('../node/runtime/open-runner.js');
  const { serveStdio } = await import('../node/mcp/serve-stdio.js');
  const loadNode = () => import('../node/runtime/inline-node.js');
  const openNode = async () => (await loadNode()).openInlineNode(settings, 'mcp');
  const runner = openRunner(settings, openNode, loadNode);
  around.onReload?.(() => void runner.reloadHooks());
  const { mcpForwardUrl, apiKey } = settings;
  const tools =
    mcpForwardUrl === null
      ? runner
      : (await import('../node/runtime/forwarded-stores.js')).forwardingStores(runner, mcpForwardUrl, apiKey);
  const { input, output, stop, pid, parentPid } = around;
  await serveStdio({
    profile: profileOf(settings.profile),
    hints: settings,
    identity: localIdentity(settings, { hostname: hostname(), pid }, systemRandom),
    runner: tools,
    nag: { first: settings.captureNagThreshold, second: settings.captureNagEscalateThreshold },
    input,
    output,
    scheduler: systemScheduler,
    parentPid,
    stop,
    graceMs: settings.shutdownGraceMs,
  });
}
