import type { Supervisor } from '../../actors/core/supervisor.js';
import type { Log } from '../../protocol/base/seams.js';
import { systemClock } from '../seams.js';
import type { DaemonParts } from './daemon-parts.js';
import { checkpoint } from './database-file.js';

/**
 * Ends a daemon in the reverse order of its start: answers open requests, writes pending data, closes the database. A
 * part that fails to stop is logged and does not prevent the stop of others. `tree` is null when it never started.
 */
export async function shutDown(parts: DaemonParts, tree: Supervisor | null): Promise<void> {
  const { settings, log, identity, http, local, mesh, hooks, touches, duties, storage, files, mcp } = parts;
  const { models, reranker } = parts.services;
  const graceMs = settings.shutdownGraceMs;
  const deadlineMs = systemClock.monotonicMs() + graceMs;
  // Calls that wait for an operator or for a model are answered now.
  hooks.hooks.questions?.close();
  await attempt(log, 'models', () => models.close());
  await attempt(log, 'reranker', () => reranker.close());
  await Promise.all([http.drain(graceMs), mesh.drain(graceMs), local.drain(graceMs)]);
  await attempt(log, 'MCP sessions', () => mcp.close());
  await attempt(log, 'mesh', () => mesh.close());
  await attempt(log, 'hooks', () => hooks.close());
  await attempt(log, 'touches', () => touches.close());
  await attempt(log, 'semantics', () => duties.close());
  await attempt(log, 'supervisor', async () => tree?.stop());
  await storage.close(deadlineMs);
  await attempt(log, 'checkpoint', async () => checkpoint(settings, identity.peerId));
  await http.close();
  await attempt(log, 'local socket', () => local.close());
  await parts.telemetry.close();
  files.close();
}

async function attempt(log: Log, part: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    log.error({ err: error, part }, 'a part did not stop in good order');
  }
}
