import { createHash } from 'node:crypto';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { isBaseUrl } from '../../config/base-url.js';
import { parseJson } from './mesh-folder.js';

/** The content of an invitation's token. */
export interface JoinToken {
  /** Base address of the inviter. */
  readonly url: string;
  /** SHA-256 of the authority's certificate, lower-case hex. */
  readonly meshId: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

const PREFIX = 'mnemesh-join-';
const CHECK_CHARACTERS = 8;
const TOKEN_LENGTH_MAX = 2000;

/** A token as people copy it: letters, digits, `-` and `_`, with a checksum that detects an incomplete copy. */
export function formatToken({ url, meshId, secret }: JoinToken): string {
  const fields = { u: url, a: meshId, s: Buffer.from(secret).toString('base64url') };
  const body = Buffer.from(JSON.stringify(fields)).toString('base64url');
  return `${PREFIX}${body}${check(body)}`;
}

/** Reads a token; INVALID_ARGUMENT without quoting it, because it holds a secret. */
export function parseToken(text: string): Result<JoinToken> {
  const token = text.trim();
  if (!token.startsWith(PREFIX) || token.length > TOKEN_LENGTH_MAX) {
    return fail(
      'INVALID_ARGUMENT',
      `this is not a token of "mesh invite": such a token begins with ${PREFIX}`,
    );
  }
  const body = token.slice(PREFIX.length, -CHECK_CHARACTERS);
  if (token.slice(-CHECK_CHARACTERS) !== check(body)) {
    return fail('INVALID_ARGUMENT', 'the token is incomplete or was changed: copy the whole token again');
  }
  const fields = parseJson(Buffer.from(body, 'base64url').toString('utf8')) as Record<string, unknown> | null;
  const { u, a, s } = fields ?? {};
  const secret = typeof s === 'string' ? Buffer.from(s, 'base64url') : Buffer.alloc(0);
  const isUrl = typeof u === 'string' && u.startsWith('https://') && isBaseUrl(u);
  if (!isUrl || typeof a !== 'string' || !/^[0-9a-f]{64}$/.test(a) || secret.length !== 32) {
    return fail(
      'INVALID_ARGUMENT',
      'the token comes from another release: run the same release on both nodes',
    );
  }
  return ok({ url: u, meshId: a, secret });
}

const check = (body: string) =>
  createHash('sha256').update(`mnemesh token 1\n${body}`).digest('base64url').slice(0, CHECK_CHARACTERS);
