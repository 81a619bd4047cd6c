import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '../../protocol/base/bounded-map.js';
import { isTokenText } from '../../protocol/base/ids.js';
import { type Failure, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { Scheduler, Timer } from '../../protocol/base/seams.js';
import type { TokenGrant } from '../identity/http-caller.js';
import type { VerifiedToken } from '../identity/tokens.js';
import { type TokenParts, tokenProblem, verifiedHere } from '../pipeline/token-problem.js';
import { keysOf } from './key-gate.js';

/** Tokens whose signatures were verified; whether they still count is asked at each request. */
const VERIFIED_MAX = 512;
/** How long a stream may go on after its token was revoked. */
const WATCH_MS = 2000;

/** The token of a request, and what it permits now. */
export interface OpenedToken {
  readonly token: VerifiedToken;
  readonly grant: TokenGrant;
}

const misplaced = (why: string): Failure => failure('TOKEN_INVALID', why);

/**
 * The token of a request; null where it has none. It must be the only credential of the request, once in `authorization`,
 * because a second one must not lift its bounds.
 */
export function tokenOf(
  { headers, rawHeaders }: IncomingMessage,
  queryKey: string | undefined,
): Result<string> | null {
  const bearers = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'authorization',
  );
  const sent = [...keysOf(headers), ...bearers.map((value) => value.replace(/^bearer +/i, ''))];
  if (!sent.some(isTokenText) && !(queryKey !== undefined && isTokenText(queryKey))) return null;
  if (headers['x-api-key'] !== undefined || queryKey !== undefined) {
    return failed(
      misplaced('a token goes into "authorization: Bearer", and the request must hold no other key'),
    );
  }
  const [token] = keysOf(headers);
  if (bearers.length !== 1 || token === undefined)
    return failed(misplaced('send one authorization header: Bearer and the token'));
  return ok(token);
}

/** Says what the tokens of requests permit. */
export class TokenGate {
  /** By the digest of the text. */
  private readonly verified = new BoundedMap<string, VerifiedToken>(VERIFIED_MAX);
  private readonly watched = new Set<{ readonly token: VerifiedToken; readonly end: () => void }>();
  private timer: Timer | null = null;

  constructor(
    private readonly parts: TokenParts,
    private readonly scheduler: Pick<Scheduler, 'after'>,
  ) {}

  /** TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_REVOKED for a token that does not count here and now. */
  async open(text: string): Promise<Result<OpenedToken>> {
    const digest = this.parts.crypto.sha256Hex(text);
    const token = this.verified.get(digest) ?? (await this.verify(text));
    if ('error' in token) return failed(token.error);
    const problem = await tokenProblem(this.parts, token);
    if (problem !== null) return failed(problem);
    this.verified.set(digest, token);
    const { tokenId, agentId, operations, within } = token;
    return ok({ token, grant: { tokenId, agentId, operations, within } });
  }

  /** Calls once the token of something that goes on does not count any more; answers what ends the watch. */
  watch(token: VerifiedToken, end: () => void): () => void {
    const each = { token, end };
    this.watched.add(each);
    this.lookLater();
    return () => this.watched.delete(each);
  }

  private async verify(text: string): Promise<VerifiedToken | { readonly error: Failure }> {
    const token = await verifiedHere(this.parts, text);
    return token.ok ? token.value : { error: token.error };
  }

  private lookLater(): void {
    if (this.timer !== null || this.watched.size === 0) return;
    this.timer = this.scheduler.after(WATCH_MS, () => {
      void this.look().finally(() => {
        this.timer = null;
        this.lookLater();
      });
    });
  }

  private async look(): Promise<void> {
    for (const each of this.watched) {
      if ((await tokenProblem(this.parts, each.token)) === null) continue;
      this.watched.delete(each);
      each.end();
    }
  }
}
