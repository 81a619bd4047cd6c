import type { Survey } from '../../node/mesh/survey.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, settingsFor } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { seamsOf } from './mesh-parts.js';

/** Where this node's daemon is asked, on nodes that were wired by hand; in a mesh it is found without. */
export const DAEMON_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'host',
    kind: 'value',
    value: 'address',
    doc: 'Address of the running daemon, without a mesh of its own',
  },
  { name: 'port', kind: 'value', value: 'number', doc: 'Its port (default 9077)' },
];

/** The settings under flags that say where the daemon is. INVALID_ARGUMENT for a port that is none. */
export function daemonSettings(parsed: ParsedArguments) {
  const host = flagValue(parsed, 'host');
  const port = flagValue(parsed, 'port');
  if (port !== undefined && !/^\d{1,5}$/.test(port))
    return fail('INVALID_ARGUMENT', '--port must be a port number');
  return ok(
    settingsFor(parsed, {
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port: Number(port) }),
    }),
  );
}

/** Asks this node's daemon and every member how they stand. */
export async function survey(parsed: ParsedArguments): Promise<Result<Survey>> {
  const settings = daemonSettings(parsed);
  if (!settings.ok) return failed(settings.error);
  let found: Result<Survey> | null = null;
  const ran = await withLocalNode(parsed, async ({ store, peerId }) => {
    // Its HTTP client is dear to load, and every help loads the commands.
    const { surveyMesh } = await import('../../node/mesh/survey.js');
    found = await surveyMesh({ ...seamsOf(parsed), settings: settings.value, peerId, store });
    return ok(0);
  });
  return ran.ok ? found! : failed(ran.error);
}

/** True for a node that has, or is meant to have, others beside it. */
export function hasMesh({ mesh_id: meshId, daemon }: Survey): boolean {
  return meshId !== null || (daemon !== null && daemon.peers.length + daemon.wired.length > 0);
}

/** What somebody does who has no mesh yet, or whose daemon was not found. */
export const NO_MESH =
  'this node belongs to no mesh: run "mnemesh mesh init", or "mnemesh mesh join <token>"; ' +
  'where nodes are wired by --quorum-peers, its daemon must run (--host, --port say where)';
