import { storeQuorum } from '../../node/config/stored-quorum.js';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { stderrLog } from '../../node/log.js';
import type { FormingParts } from '../../node/mesh/forming/form.js';
import { type MeshFacts, MeshFolder } from '../../node/mesh/forming/mesh-folder.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { settingsOfFlags } from '../setting-flags.js';
import type { Terminal } from '../terminal.js';
import { objectView } from '../views/object-view.js';

/** The address of a node of a mesh. */
export const PLACE_FLAGS: readonly DocumentedFlag[] = [
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

export const placeWords = (parsed: ParsedArguments) => ({
  url: flagValue(parsed, 'url'),
  listen: flagValue(parsed, 'listen'),
});

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
  const words = ['host', 'port', 'quorum-writes', 'db', 'config', 'agent-id'].flatMap((name) => {
    const value = flagValue(parsed, name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  return serveCommand.run([...words, ...(isSet(parsed, 'json') ? ['--json'] : [])], terminal);
}
