import { inflateRawSync } from 'node:zlib';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import { wordsOf } from '../../protocol/kinds/kind.js';
import { peerOfOrigin, type WireOperation } from '../../protocol/log/wire-operation.js';
import type { SecretOutcome } from '../../protocol/policies/secret-modes.js';
import type { OperationScreen } from '../../protocol/replication/verifier.js';
import { skillContentKind } from '../../protocol/skills/content-kinds.js';
import { PIECE_BYTES_MAX } from '../../protocol/skills/limits.js';
import { blobKind } from '../../protocol/transcripts/blob-kind.js';
import { TEXT_BYTES_MAX } from '../../protocol/transcripts/limits.js';
import type { Services } from '../pipeline/call.js';
import { refusalOf } from '../pipeline/call-screen.js';
import { hasUnseen } from '../secrets/hidden-characters.js';
import { mayHoldSecret } from '../secrets/may-hold-secret.js';
import type { FoundText } from '../secrets/screen.js';

type Parts = Pick<Services, 'screen' | 'store' | 'log' | 'peerId'>;

/** Operations that are remembered, because they arrive more than once. */
const KNOWN_MAX = 1_000;

/**
 * Looks for secrets in what peers send. What a peer has signed cannot be rewritten, so an operation is taken as it is, and
 * counted, or refused: then it is parked without its payload.
 */
export class PeerScreen implements OperationScreen {
  readonly #known = new Set<string>();

  constructor(private readonly parts: Parts) {}

  async ready(): Promise<void> {
    if (this.parts.screen.isOn) await this.parts.screen.load();
  }

  refuses({ origin, seq, kind, namespace, payload }: WireOperation): boolean {
    const { screen, peerId } = this.parts;
    const peer = peerOfOrigin(origin);
    if (payload === null || !screen.isOn || peer === peerId) return false;
    const said = PACKED.has(kind) ? unpacked(parsed(payload)) : payload;
    if (typeof said === 'string' && !mayHide(said) && !mayHoldSecret(said)) return false;
    const strict = this.#strict(
      screen.lookNow(said === payload ? parsed(payload) : { data: said }),
      namespace,
    );
    if (strict === null) return false;
    this.#note({ peer, operation: kind, namespace, id: `${origin}/${seq}` }, strict);
    return strict.outcome === 'refused';
  }

  /** Fails for an item, or a command, of a peer with a secret that this node refuses. */
  async passed(peer: string, operation: string, item: unknown): Promise<Result<null>> {
    const { screen } = this.parts;
    if (!screen.isOn) return ok(null);
    const strict = this.#strict(await screen.look(item), null);
    if (strict === null) return ok(null);
    this.#note({ peer, operation, namespace: strict.found[0]!.namespace, id: null }, strict);
    return strict.outcome === 'refused' ? failed(refusalOf(strict.found)) : ok(null);
  }

  /** The outcome: `refused` when one text may not be stored here, `kept` when all may; null when no namespace looks for secrets. */
  #strict(found: readonly FoundText[], namespace: string | null): Strict | null {
    const { screen } = this.parts;
    const modes = found.map((each) => screen.modeOf(each.namespace ?? namespace));
    const refused = found.filter((_, at) => modes[at] === 'refuse');
    if (refused.length > 0) return { outcome: 'refused', found: refused };
    const kept = found.filter((_, at) => modes[at] !== 'off');
    return kept.length === 0 ? null : { outcome: 'kept', found: kept };
  }

  #note({ peer, operation, namespace, id }: Source, { outcome, found }: Strict): void {
    const { screen, store, log } = this.parts;
    if (id !== null) {
      if (this.#known.has(id)) return;
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.add(id);
    }
    screen.count(found, outcome);
    const listed = found.flatMap(({ field, kinds }) => kinds.map((kind) => ({ field, kind })));
    const note = { kind: 'note-secret', agentId: peer, operation, namespace, outcome } as const;
    void store.execute({ ...note, found: listed.slice(0, 32) }, { lane: 'background' }).then((noted) => {
      if (!noted.ok) log.error({ code: noted.error.code }, 'found secrets could not be recorded');
    });
  }
}

interface Strict {
  readonly outcome: SecretOutcome;
  readonly found: readonly FoundText[];
}

interface Source {
  readonly peer: string;
  readonly operation: string;
  readonly namespace: string | null;
  /** Null for what is no operation. */
  readonly id: string | null;
}

/** Words whose payload holds its text compressed. */
const PACKED: ReadonlySet<string> = new Set(
  [blobKind, skillContentKind].flatMap((kind) => wordsOf(kind, 'image')),
);
/** The longest text that readers decompress. */
const UNPACKED_BYTES_MAX = Math.max(TEXT_BYTES_MAX, PIECE_BYTES_MAX);

/** What may hide a secret in a payload: other spellings of characters, and unseen ones. */
const mayHide = (text: string): boolean => /\\[u/]/.test(text) || hasUnseen(text);

/** The text in a compressed payload; empty where it cannot be decompressed. */
function unpacked(payload: unknown): string {
  const { data } = (payload ?? {}) as { readonly data?: unknown };
  if (typeof data !== 'string') return '';
  try {
    return inflateRawSync(Buffer.from(data, 'base64'), { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
  } catch {
    return '';
  }
}

/** A payload as a value; one that is no JSON is looked at as it is. */
function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return payload;
  }
}
