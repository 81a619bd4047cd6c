import { hostname } from 'node:os';
import { storeQuorum } from '../../node/config/stored-quorum.js';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { stderrLog } from '../../node/log.js';
import { findNode } from '../../node/mesh/forming/find-node.js';
import type { FormingParts, NodeWords } from '../../node/mesh/forming/form.js';
import { type MeshFacts, MeshFolder } from '../../node/mesh/forming/mesh-folder.js';
import { RosterFile, type RosterSeams } from '../../node/mesh/forming/roster-file.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { isPeerId } from '../../protocol/log/peer-id.js';
import { nodeNameOf, nodeNameProblem } from '../../protocol/peers/node-name.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { settingsOfFlags } from '../setting-flags.js';
import type { Terminal } from '../terminal.js';
import { objectView } from '../views/object-view.js';

/** The name and the address of a node of a mesh. */
export const PLACE_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'name',
    kind: 'value',
    value: 'name',
    doc: "What people call this node (the host's name; with a number where another node has it)",
  },
  {
    name: 'url',
    kind: 'value',
    value: 'url',
    doc: 'Address at which other nodes reach this one, such as https://node2.example:9177',
  },
  {
    name: 'listen',
    kind: 'value',
    value: 'host:port',
    doc: 'Address to listen on, if that differs from --url',
  },
];

/** The node that a command is about. */
export const NODE_POSITIONAL = {
  name: 'node',
  doc: 'Its name, its peer id or the beginning of it, as "mesh status" shows them',
} as const;

/** Flags that are passed on to `serve`. */
export const SERVE_FLAGS: readonly DocumentedFlag[] = [
  { name: 'serve', kind: 'switch', doc: 'Run the node afterwards, as "serve" does' },
  { name: 'host', kind: 'value', value: 'address', doc: 'With --serve: address of the API for agents' },
  { name: 'port', kind: 'value', value: 'number', doc: 'With --serve: port of the API for agents' },
  {
    name: 'quorum-writes',
    kind: 'value',
    value: 'number',
    doc: 'Nodes that must have a write before it is answered, this one included; kept for every later start',
  },
];

/** VALIDATION_FAILED for a name that no node may have. */
export function placeWords(parsed: ParsedArguments): Result<NodeWords> {
  const given = flagValue(parsed, 'name')?.toLowerCase();
  const problem = given === undefined ? null : nodeNameProblem(given);
  if (problem !== null) return fail('VALIDATION_FAILED', `--name: ${problem}`, { fields: ['name'] });
  const name = given ?? nodeNameOf(hostname()) ?? undefined;
  return ok({ name, url: flagValue(parsed, 'url'), listen: flagValue(parsed, 'listen') });
}

/** The parts that the formation of a mesh needs. Makes the home and the machine's key where they are missing. */
export function formingParts(parsed: ParsedArguments): FormingParts {
  const settings = settingsFor(parsed);
  return {
    folder: new MeshFolder(settings.home),
    identity: loadMachineIdentity(settings.keyDir, systemRandom),
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
  };
}

/** The parts of a command that shows the mesh. */
export const seamsOf = (parsed: ParsedArguments) => ({
  clock: systemClock,
  scheduler: systemScheduler,
  random: systemRandom,
  crypto: systemCrypto,
  log: stderrLog(settingsFor(parsed).logLevel === 'silent' ? 'silent' : 'error'),
});

/** NOT_FOUND unless the node belongs to a mesh. */
export function requireMesh(folder: MeshFolder): Result<MeshFacts> {
  const facts = folder.facts();
  return facts === null
    ? fail(
        'NOT_FOUND',
        'this node belongs to no mesh: run "mnemesh mesh init", or "mnemesh mesh join <token>"',
      )
    : ok(facts);
}

/**
 * The peer id of the node that a person names. On a node that was wired by hand only a peer id names one. NOT_FOUND,
 * AMBIGUOUS_ID_PREFIX.
 */
export function peerNamed(folder: MeshFolder, seams: RosterSeams, word: string): Result<string> {
  if (isPeerId(word)) return ok(word);
  if (folder.facts() === null)
    return fail(
      'VALIDATION_FAILED',
      `"${word}" is no peer id: "mnemesh mesh status" shows those of the nodes`,
      {
        fields: ['node'],
      },
    );
  const found = findNode(new RosterFile(folder, seams).read(), word);
  return found.ok ? ok(found.value.peer_id) : failed(found.error);
}

/** An answer as lines for people, or as one JSON document. */
export function shown(parsed: ParsedArguments, terminal: Terminal, answer: Record<string, unknown>): string {
  return isSet(parsed, 'json')
    ? `${JSON.stringify(answer)}\n`
    : objectView(answer, { columns: terminal.columns });
}

/** The quorum of the command line; null without one. CONFIG_INVALID for a value that is no quorum. */
export function quorumGiven(parsed: ParsedArguments): Result<number | null> {
  const flags = settingsOfFlags(parsed, ['quorumWrites']);
  return flags.ok ? ok(flags.value.quorumWrites ?? null) : failed(flags.error);
}

/** Keeps the quorum of the command line for later starts. */
export function keepQuorum(parsed: ParsedArguments, writes: number | null): void {
  if (writes !== null) storeQuorum(settingsFor(parsed).home, writes);
}

/** Runs the node after a command that formed its mesh, when the user gave `--serve`. */
export async function serveAfter(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  if (!isSet(parsed, 'serve')) return ok(0);
  const { serveCommand } = await import('../serve-command.js');
  const words = ['host', 'port', 'quorum-writes', 'db', 'store-url', 'config', 'agent-id'].flatMap((name) => {
    const value = flagValue(parsed, name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  return serveCommand.run([...words, ...(isSet(parsed, 'json') ? ['--json'] : [])], terminal);
}
