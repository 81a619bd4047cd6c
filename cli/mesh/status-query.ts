import type { StatusResult } from '../../node/mesh/status-query.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, settingsFor } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { seamsOf } from './mesh-parts.js';

/** The address of this node's daemon, on nodes that were wired by hand; in a mesh no flag is needed. */
export const DAEMON_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'host',
    kind: 'value',
    value: 'address',
    doc: 'Address of the running daemon, for a node wired by hand',
  },
  { name: 'port', kind: 'value', value: 'number', doc: 'Its port (default 9077)' },
];

/** The settings under flags that give the daemon's address. VALIDATION_FAILED for text that is not a port. */
export function daemonSettings(parsed: ParsedArguments) {
  const host = flagValue(parsed, 'host');
  const port = flagValue(parsed, 'port');
  if (port !== undefined && !/^\d{1,5}$/.test(port))
    return fail('VALIDATION_FAILED', '--port must be a port number');
  return ok(
    settingsFor(parsed, {
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port: Number(port) }),
    }),
  );
}

/** Asks this node's daemon and every member for their state. */
export async function queryStatus(parsed: ParsedArguments): Promise<Result<StatusResult>> {
  const settings = daemonSettings(parsed);
  if (!settings.ok) return failed(settings.error);
  let found: Result<StatusResult> | null = null;
  const ran = await withLocalNode(parsed, async ({ store, peerId }) => {
    // Its HTTP client is expensive to load, and every help loads the commands.
    const { queryMeshStatus } = await import('../../node/mesh/status-query.js');
    found = await queryMeshStatus({ ...seamsOf(parsed), settings: settings.value, peerId, store });
    return ok(0);
  });
  return ran.ok ? found! : failed(ran.error);
}

/** True for a node that has other nodes in its mesh, or is configured to. */
export function hasMesh({ mesh_id: meshId, daemon }: StatusResult): boolean {
  return meshId !== null || (daemon !== null && daemon.peers.length + daemon.wired.length > 0);
}

/** Advice for an operator whose node has no mesh yet, or whose daemon was not found. */
export const NO_MESH =
  'this node belongs to no mesh: run "mnemesh mesh init", or "mnemesh mesh join <token>"; ' +
  'where nodes are wired by --quorum-peers, its daemon must run (--host and --port give its address)';
