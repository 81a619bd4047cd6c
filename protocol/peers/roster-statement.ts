import { z } from 'zod';
import { canonicalJson } from '../base/canonical-json.js';
import { agentIdProblem } from '../base/ids.js';
import { FINGERPRINTS_OF_PEER_MAX, NAMESPACE_LENGTH_MAX } from '../base/limits.js';
import type { PeerId } from '../base/meanings.js';
import { nodeNameProblem } from './node-name.js';
import type { Peer } from './peer.js';

/**
 * What the authority of a mesh says about one member. Of two statements about one peer the one with the higher serial
 * counts. Statements about departed peers are kept, because their keys verify what they wrote.
 */
export interface RosterStatement {
  /** SHA-256 of the authority's certificate, lower-case hex: identifies the mesh. */
  readonly mesh_id: string;
  readonly peer_id: PeerId;
  /** What people call the node; no other member has the name. Absent where nobody named it. */
  readonly name?: string | undefined;
  /** Base address; null for a node that connects to others and cannot be reached. */
  readonly url: string | null;
  /** URL-safe base64 of the 32 bytes of its Ed25519 key. */
  readonly public_key: string;
  /** SHA-256 of its certificates, lower-case hex, the newest first. */
  readonly fingerprints: readonly string[];
  /** Null means all. */
  readonly allowed_namespaces: readonly string[] | null;
  readonly allowed_sender_agent_ids: readonly string[];
  readonly state: 'member' | 'departed';
  /** Counts the statements about this peer, starting at 1. */
  readonly serial: number;
}

export interface SignedStatement {
  readonly statement: RosterStatement;
  /** Standard base64: the authority's RSA signature (SHA-256) over `statementBytes`. */
  readonly signature: string;
}

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const glob = z.string().min(1).max(NAMESPACE_LENGTH_MAX);

const STATEMENT = z.strictObject({
  mesh_id: hex,
  peer_id: z.string().regex(/^peer-[0-9a-f]{16}$/),
  name: z
    .string()
    .refine((name) => nodeNameProblem(name) === null)
    .optional(),
  url: z
    .string()
    .max(300)
    .regex(/^https:\/\/[^\s/?#@]+$/)
    .nullable(),
  public_key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  fingerprints: z.array(hex).max(FINGERPRINTS_OF_PEER_MAX),
  allowed_namespaces: z.array(glob).max(100).nullable(),
  allowed_sender_agent_ids: z.array(z.string().refine((id) => agentIdProblem(id) === null)).max(100),
  state: z.enum(['member', 'departed']),
  serial: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
});

const SIGNED = z.strictObject({ statement: STATEMENT, signature: z.string().max(2000) });

/** Reads a signed statement; null for another shape. It verifies neither key nor signature. */
export function parseSignedStatement(value: unknown): SignedStatement | null {
  const parsed = SIGNED.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** The bytes under a statement's signature. */
export function statementBytes(statement: RosterStatement): Uint8Array {
  return new TextEncoder().encode(`mnemesh roster 1\n${canonicalJson(statement)}`);
}

/** Converts a statement to a peer. */
export function peerOfStatement(statement: RosterStatement): Peer {
  const binary = atob(statement.public_key.replaceAll('-', '+').replaceAll('_', '/'));
  return {
    peerId: statement.peer_id,
    url: statement.url,
    publicKey: Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    fingerprints: statement.fingerprints,
    allowedNamespaces: statement.allowed_namespaces,
    allowedSenderAgentIds: statement.allowed_sender_agent_ids,
    state: statement.state,
  };
}
