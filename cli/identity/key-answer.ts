import type { InstalledKey } from '../../node/identity/key-files.js';
import { fingerprintOf } from '../../node/identity/machine-key.js';
import { publicKeyText } from '../../protocol/base/key-text.js';
import type { ParsedArguments } from '../arguments.js';
import { objectView } from '../views/object-view.js';

/** The answer to a change of a key: the public key and its path, never the private key. */
export function keyAnswer(
  parsed: ParsedArguments,
  done: 'generated' | 'imported',
  agentId: string,
  key: InstalledKey,
  hasPrivate: boolean,
): string {
  const answer = {
    [done]: true,
    agent_id: agentId,
    public_key: publicKeyText(key.publicKey),
    fingerprint: fingerprintOf(key.publicKey),
    has_private: hasPrivate,
    path: key.publicPath,
    ...(key.archivedPath === null ? {} : { archived: key.archivedPath }),
  };
  return parsed.flags.has('json') ? `${JSON.stringify(answer)}\n` : objectView(answer);
}
