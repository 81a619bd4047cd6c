import { MeshFolder } from '../../node/mesh/forming/mesh-folder.js';
import { RosterFile } from '../../node/mesh/forming/roster-file.js';
import type { ParsedArguments } from '../arguments.js';
import { settingsFor } from '../global-flags.js';
import { seamsOf } from './mesh-parts.js';

/** What people call a peer. */
export type PeerNames = (peerId: string) => string;

/** Hexadecimal digits of a peer id that stand beside its name. */
const DIGITS_SHOWN = 4;

/** A peer's name with the beginning of its id, which commands take too; without a name the whole id. */
export const namedPeer = (peerId: string, name: string | null | undefined): string =>
  name == null ? peerId : `${name} (${peerId.slice(0, 'peer-'.length + DIGITS_SHOWN)})`;

/** The names in the roster of this node. */
export function peerNames(parsed: ParsedArguments): PeerNames {
  const folder = new MeshFolder(settingsFor(parsed).home);
  const known = folder.facts() === null ? null : new RosterFile(folder, seamsOf(parsed)).read();
  return (peerId) => namedPeer(peerId, known?.get(peerId)?.statement.name);
}
