import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { signerOf } from '../../node/identity/key-file.js';
import { hashOf } from '../../node/mesh/forming/invites.js';
import { JOIN_REQUEST, type JoinFacts, joinBytes } from '../../node/mesh/forming/join-messages.js';
import { publicKeyText } from '../../protocol/base/key-text.js';
import { TestPeer } from '../support/test-peer.js';
import { Dice } from './dice.js';
import type { MeshTarget } from './mesh-target.js';
import { envelopeProblem } from './oracle.js';
import { fault, type Surface, type SurfaceOptions, Tally } from './surface.js';
import { mutateTree } from './tree.js';
import { type FieldSchema, Values } from './values.js';

const SHAPE = z.toJSONSchema(JOIN_REQUEST, { io: 'input' }) as FieldSchema;

/** Requests to join with an invitation; whoever has it may ask what it likes, and joins only as itself. */
export class JoinSurface implements Surface {
  readonly name = 'joins';
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #joiner = new TestPeer('a joiner');
  readonly #statuses = new Tally();
  #invited: Awaited<ReturnType<MeshTarget['invited']>> | null = null;

  constructor(
    private readonly mesh: MeshTarget,
    { seed }: SurfaceOptions,
  ) {
    this.#dice = new Dice(seed);
    this.#values = new Values(this.#dice);
    this.#values.samples.push(
      'a'.repeat(64),
      this.#joiner.peerId,
      mesh.facts.peer_id,
      'A'.repeat(43),
      mesh.facts.url!,
    );
  }

  async send(count: number): Promise<void> {
    // In a long run the one of the turn before may have expired.
    await this.#leave();
    for (let sent = 0; sent < count; sent += 1) {
      this.#invited ??= await this.mesh.invited();
      const request = this.#draw(this.#invited.token.secret);
      const answer = await this.#invited.connection.ask(request as never);
      if (!answer.ok) fault(answer.error.message, JSON.stringify(request));
      const { status, body } = answer.value;
      this.#statuses.add(status);
      const problem = status >= 400 ? envelopeProblem(body, status) : null;
      if (problem !== null) fault(problem, JSON.stringify(request));
      // An invitation counts once.
      if (status === 200 || status === 403) await this.#leave();
    }
  }

  /** Nobody is in the roster but the known members and the joiner. */
  async check(): Promise<void> {
    const text = readFileSync(`${this.mesh.target.daemon.home}/mesh/peers.json`, 'utf8');
    const { statements } = JSON.parse(text) as { statements: { statement: { peer_id: string } }[] };
    const { facts, honest, hostile } = this.mesh;
    const known = new Set([
      facts.peer_id,
      this.#joiner.peerId,
      ...[honest, ...hostile].map(({ peer }) => peer.peerId),
    ]);
    const stranger = statements.find(({ statement }) => !known.has(statement.peer_id));
    if (stranger !== undefined) fault('a stranger joined', JSON.stringify(stranger));
  }

  summary(): string {
    return String(this.#statuses);
  }

  async end(): Promise<void> {
    await this.#leave();
  }

  #draw(secret: Uint8Array): unknown {
    const dice = this.#dice;
    const key = createPrivateKey(this.mesh.honest.key);
    const right: JoinFacts = {
      invite: hashOf(signerOf(secret).publicKey),
      mesh_id: this.mesh.facts.mesh_id,
      peer_id: this.#joiner.peerId,
      public_key: publicKeyText(this.#joiner.signer.publicKey),
      tls_public_key: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
      url: `https://127.0.0.1:${1 + dice.below(65_000)}`,
    };
    if (dice.chance(0.1)) return this.#values.valid('request', SHAPE);
    const facts = dice.chance(0.6) ? (mutateTree(right, dice, this.#values, 1) as JoinFacts) : right;
    // The proofs are right for whatever the facts say, so that these are looked at.
    const bytes = joinBytes(facts);
    const request = {
      facts,
      proof: Buffer.from(this.#joiner.signer.sign(bytes)).toString('base64'),
      tls_proof: sign('sha256', bytes, key).toString('base64'),
    };
    return dice.chance(0.3) ? mutateTree(request, dice, this.#values) : request;
  }

  async #leave(): Promise<void> {
    await this.#invited?.connection.close();
    this.#invited = null;
  }
}
