import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { type AuthorityConnection, askAuthority } from '../../node/mesh/forming/ask-authority.js';
import type { JoinToken } from '../../node/mesh/forming/join-token.js';
import type { MeshFacts } from '../../node/mesh/forming/mesh-folder.js';
import { systemRandom } from '../../node/seams.js';
import { coversNamespace } from '../../protocol/log/scope.js';
import { formed, formingHome, invitation, join } from '../support/mesh-node.js';
import { TestPeer } from '../support/test-peer.js';
import { Target } from './targets.js';

/** A member of the mesh that a test plays: its key, and what its TLS presents. */
export interface Member {
  readonly name: string;
  readonly peer: TestPeer;
  readonly cert: string;
  readonly key: string;
  /** Globs of what it may hold; null for all. */
  readonly scope: readonly string[] | null;
}

/** True when a member may hold the contents of a namespace. */
export const holds = ({ scope }: Pick<Member, 'scope'>, namespace: string) =>
  scope === null || scope.some((glob) => coversNamespace(glob, namespace));

/** A daemon that made a mesh, with members that a test plays. */
export interface MeshTarget {
  readonly target: Target;
  readonly facts: MeshFacts;
  readonly url: URL;
  /** One that does everything right, two that may not be trusted: with all namespaces, and with those of a team. */
  readonly honest: Member;
  readonly hostile: readonly Member[];
  /** A connection with an invitation that nobody used. */
  invited(): Promise<{ readonly token: JoinToken; readonly connection: AuthorityConnection }>;
}

export async function startMeshTarget(): Promise<MeshTarget> {
  const parts = formingHome();
  const facts = await formed(parts);
  const target = await Target.start(parts.home, { SVC_QUORUM_WRITES: '1' });
  const member = async (name: string, scope: readonly string[] | null): Promise<Member> => {
    const theirs = formingHome();
    const joined = await join(theirs, invitation(parts, 600, scope));
    if (!joined.ok) throw new Error(joined.error.message);
    const { key } = loadMachineIdentity(`${theirs.home}/keys`, systemRandom);
    const { folder } = theirs;
    return {
      name,
      peer: new TestPeer(key),
      cert: readFileSync(folder.nodeCertPath, 'utf8'),
      key: readFileSync(folder.nodeKeyPath, 'utf8'),
      scope,
    };
  };
  return {
    target,
    facts,
    url: new URL(facts.url!),
    honest: await member('honest', null),
    hostile: [await member('everything', null), await member('scoped', ['team/**'])],
    async invited() {
      const token = invitation(parts);
      const opened = await askAuthority(token, parts);
      if (!opened.ok) throw new Error(opened.error.message);
      return { token, connection: opened.value };
    },
  };
}

/** A connection of a member to the listener for peers. */
export const connectAs = ({ cert, key }: Member, { hostname, port }: URL) =>
  connect({
    host: hostname,
    port: Number(port),
    cert,
    key,
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
