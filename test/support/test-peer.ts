import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signerOf } from '../../node/identity/key-file.js';
import { fingerprintOf } from '../../node/identity/machine-key.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import type { Signer } from '../../protocol/base/seams.js';
import { CHAIN_GENESIS, headerHash, type OperationHeader } from '../../protocol/log/operation-log.js';
import { headBytes, type SignedHead, type WireOperation } from '../../protocol/log/wire-operation.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { memoryPayload } from '../../protocol/memory/memory-kind.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import { aMemory } from './memories.js';

/** Changes of an operation before it is chained and hashed. */
export type OperationChange = Partial<
  Pick<WireOperation, 'kind' | 'namespace' | 'subject' | 'payload' | 'payloadHash' | 'hlc' | 'seen'>
>;

/** A peer that a test plays: it has a key, makes operations, and signs messages, rightly or wrongly. */
export class TestPeer {
  readonly signer: Signer;
  readonly peerId: string;
  readonly origin: string;
  #seq = 0;
  #head = CHAIN_GENESIS;

  /** Always the same key for the same name, or a given key; the id is the one that follows from it unless given. */
  constructor(name: string | Signer, peerId?: string, epoch = 'epoch-1') {
    this.signer =
      typeof name === 'string'
        ? signerOf(createHash('sha256').update(`a test peer: ${name}`).digest())
        : name;
    this.peerId = peerId ?? `peer-${fingerprintOf(this.signer.publicKey).slice(0, 16)}`;
    this.origin = `${this.peerId}/${epoch}`;
  }

  /** As others know it. */
  asPeer(fields: Partial<Peer> = {}): Peer {
    return {
      peerId: this.peerId,
      url: null,
      publicKey: this.signer.publicKey,
      fingerprints: [],
      allowedNamespaces: null,
      allowedSenderAgentIds: [],
      state: 'member',
      ...fields,
    };
  }

  /** Puts its public key where an operator would. */
  enrol(keyDir: string): void {
    const path = join(keyDir, `${this.peerId}.pub`);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, this.signer.publicKey, { mode: 0o644 });
  }

  /** The next operation of its chain: it stores a memory, unless changed. */
  operation(memory: Partial<Memory> = {}, change: OperationChange = {}): WireOperation {
    const hlc = change.hlc ?? `${String(Date.now()).padStart(13, '0')}-00000`;
    const row = aMemory({ created_hlc: hlc, ...memory });
    const payload = change.payload === undefined ? memoryPayload(row) : change.payload;
    this.#seq += 1;
    const header = {
      origin: this.origin,
      seq: this.#seq,
      hlc,
      kind: change.kind ?? 'store',
      namespace: change.namespace ?? row.namespace,
      subject: change.subject ?? row.id,
      seen: change.seen ?? {},
      payloadHash: change.payloadHash ?? systemCrypto.sha256Hex(payload ?? memoryPayload(row)),
      prevHash: this.#head,
    } satisfies OperationHeader;
    this.#head = headerHash(header, systemCrypto);
    return { ...header, payload };
  }

  /** Its signature over the end of its chain. */
  head(): SignedHead {
    return this.sign({ origin: this.origin, seq: this.#seq, hash: this.#head });
  }

  sign(head: Pick<SignedHead, 'origin' | 'seq' | 'hash'>): SignedHead {
    const signature = Buffer.from(this.signer.sign(headBytes(head))).toString('base64');
    return { ...head, signature };
  }

  /** A push as a body: its own id and the present time unless changed. */
  pushBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      sender_agent_id: this.peerId,
      sender_wall_clock: new Date().toISOString(),
      memories: [],
      ...fields,
    };
  }

  /** A push with these operations under a good head. */
  pushOf(...operations: readonly WireOperation[]): Record<string, unknown> {
    return this.pushBody({ operations, heads: [this.head()] });
  }

  /** A signed push of a body, which is sent as it is when it is a text. */
  push(
    body: Record<string, unknown> | string,
    headers: Record<string, string | undefined> = {},
  ): ReceivedMessage {
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    return this.#message({ method: 'POST', path: '/api/v1/sync/push', query: '', body: bytes }, headers);
  }

  /** A signed question with a body. */
  post(path: string, body: object): ReceivedMessage {
    return this.#message({ method: 'POST', path, query: '', body: Buffer.from(JSON.stringify(body)) }, {});
  }

  /** A signed question. */
  get(path: string, query = ''): ReceivedMessage {
    return this.#message({ method: 'GET', path, query, body: new Uint8Array(0) }, {});
  }

  /** A signed pull. */
  pull(query: string, headers: Record<string, string | undefined> = {}): ReceivedMessage {
    return this.#message(
      { method: 'GET', path: '/api/v1/sync/since', query, body: new Uint8Array(0) },
      headers,
    );
  }

  #message(
    parts: Pick<ReceivedMessage, 'method' | 'path' | 'query' | 'body'>,
    headers: Record<string, string | undefined>,
  ): ReceivedMessage {
    const signed = signMessage({ ...parts, peerId: this.peerId, signer: this.signer, random: systemRandom });
    return { ...parts, headers: { ...signed, ...headers }, fingerprint: null };
  }
}
