import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { EVERY_NAMESPACE } from '../../../protocol/base/within.js';
import { type MintedToken, mintedTokenKind, tokenIdOf } from '../../../protocol/delegation/minted-token.js';
import { tokenRevocationKind } from '../../../protocol/delegation/token-revocation-kind.js';
import { rootId } from '../../../protocol/delegation/token-root-kind.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { TOKEN_OPERATIONS } from '../../identity/token-text.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { NAMESPACES_MAX, SECS_MAX, tokenPattern } from './token-fields.js';

const NOTE_MAX = 200;
const LISTED_MAX = 1000;

const input = z.object({
  for_agent: fields.agentId.describe('Agent that it acts as; the caller unless given').optional(),
  operations: z
    .array(z.enum(TOKEN_OPERATIONS))
    .min(1)
    .default(['read'])
    .describe('What it permits: read, write, admin'),
  namespaces: z
    .array(tokenPattern)
    .min(1)
    .max(NAMESPACES_MAX)
    .describe('Where: namespaces, or team/** for one and all below it, or ** for all'),
  expires_secs: z
    .int()
    .min(1)
    .max(SECS_MAX)
    .default(86_400)
    .describe('Seconds until it expires, up to a year'),
  note: z.string().max(NOTE_MAX).default('').describe('What it is for, for the list of tokens'),
});

const shown = {
  token_id: z.string(),
  agent_id: z.string(),
  operations: z.array(z.string()),
  namespaces: z.array(z.string()),
  expires_at: z.string(),
};

/** Mints a token that permits an agent some operations in some namespaces for some time. */
export const tokenMint = defineOperation({
  name: 'token_mint',
  family: 'governance',
  summary: 'Mint a token that lets somebody act as an agent, within operations, namespaces and a time.',
  input,
  output: z.object({ token: z.string().describe('The token; nobody can read it again'), ...shown }),
  effect: 'write',
  guards: { attestation: 'by-key' },
  delegable: 'never',
  http: [{ method: 'POST', path: '/tokens', fields: 'body', status: 201 }],
  cli: {
    command: 'token mint',
    flags: { for_agent: 'for' },
    view: 'message',
    message: ({ token }) => String(token),
    examples: [`token mint --for ai:helper --namespaces 'team/**' --operations read,write > helper.token`],
  },
  run: mint,
});

async function mint(call: Call, given: z.output<typeof input>) {
  const who = await whoMints(call, given.for_agent, given.operations.includes('admin'));
  if (!who.ok) return failed(who.error);
  const { settings, random, crypto, peerId, store } = call.services;
  const [{ mintToken }, roots] = await Promise.all([
    import('../../identity/tokens.js'),
    import('../../identity/token-root.js'),
  ]);
  const known = await store.query({ kind: 'token-roots' });
  if (!known.ok) return failed(known.error);
  let signer = roots.ensureTokenSigner(settings.keyDir, random);
  const key = Buffer.from(signer.publicKey).toString('hex');
  if (known.value.roots.some(({ public_key, peer_id }) => public_key === key && peer_id !== peerId)) {
    // It came with a copy of another node's keys, and that node could not take it away here.
    roots.destroyTokenSigner(settings.keyDir);
    signer = roots.ensureTokenSigner(settings.keyDir, random);
  }
  const keyMark =
    call.surface === 'http' && settings.apiKey !== null ? roots.keyMarkOf(signer, settings.apiKey) : null;
  const operations = TOKEN_OPERATIONS.filter((each) => given.operations.includes(each));
  const everywhere = given.namespaces.includes(EVERY_NAMESPACE);
  const namespaces = everywhere ? [EVERY_NAMESPACE] : [...new Set(given.namespaces)].sort();
  const expiresS = Math.floor(call.nowMs / 1000) + given.expires_secs;
  const { token, revocationId } = await mintToken(
    signer,
    { ...who.value, keyMark },
    { operations, expiresS, ...(everywhere ? {} : { namespaces }) },
  );
  const { agentId: agent_id, minter } = who.value;
  const expires_at = instantFromMs(expiresS * 1000);
  const minted: MintedToken = {
    ...{ token_id: tokenIdOf(revocationId), revocation_id: revocationId, agent_id },
    ...{ operations: operations.join(' '), namespaces: namespaces.join(' '), note: given.note },
    ...{ minted_by: minter ?? call.caller.agentId, created_at: call.now, expires_at },
  };
  const root = {
    ...{ peer_id: peerId, key_id: roots.keyIdOf(signer.publicKey, crypto) },
    ...{ public_key: Buffer.from(signer.publicKey).toString('hex'), created_at: call.now, rest: NO_REST },
  };
  const noted = await store.execute({ kind: 'note-token', token: minted, root });
  if (!noted.ok) return failed(noted.error);
  return ok({ token, token_id: minted.token_id, agent_id, operations, namespaces, expires_at });
}

interface Minting {
  readonly agentId: string;
  readonly minter: string | null;
  readonly minterKey: string | null;
}

/**
 * For whom a caller mints. Nobody gives away a right that they lack: an agent mints for itself, an admin and the operator of the
 * machine for every agent, and only admins give away what admins may. FORBIDDEN otherwise.
 */
async function whoMints(
  { caller, surface, services }: Call,
  named: string | undefined,
  givesAdmin: boolean,
): Promise<Result<Minting>> {
  const isOperator = caller.local && caller.viewer.all;
  if (surface === 'http' && services.settings.apiKey === null) {
    const why = 'without an API key everybody may do what a token permits: set api_key first';
    return fail('FORBIDDEN', why);
  }
  if (named === undefined && caller.claimed === 'made') {
    return fail('VALIDATION_FAILED', 'for_agent: say as which agent it acts', { fields: ['for_agent'] });
  }
  const agentId = named ?? caller.agentId;
  if (!isOperator && !caller.admin) {
    if (caller.claimed === 'made' || agentId !== caller.agentId) {
      return fail('FORBIDDEN', 'an agent mints for itself only, and an admin for others');
    }
    if (givesAdmin) return fail('ADMIN_REQUIRED', 'only an admin gives away what admins may do');
  }
  if (isOperator) return ok({ agentId, minter: null, minterKey: null });
  const key = await services.store.query({ kind: 'agent-key', agentId: caller.agentId });
  return key.ok ? ok({ agentId, minter: caller.agentId, minterKey: key.value.publicKey }) : failed(key.error);
}

const row = z.object({
  ...shown,
  minted_by: z.string(),
  note: z.string(),
  created_at: z.string(),
  state: z.enum(['valid', 'expired', 'revoked']),
});

/** Lists the tokens that this node minted: those of the caller, or all for who sees everything. */
export const tokenList = defineOperation({
  name: 'token_list',
  family: 'governance',
  summary: 'List the tokens that this node minted, the newest first; never the tokens themselves.',
  input: z.object({ limit: fields.listLimit(100, LISTED_MAX) }),
  output: z.object({ tokens: z.array(row), count: z.int(), ...fields.listEnd }),
  effect: 'read',
  guards: {},
  delegable: 'never',
  http: [{ method: 'GET', path: '/tokens', fields: 'query' }],
  mcp: {
    description:
      'List the access tokens that were minted here for you, with what they permit and whether they still count.',
  },
  cli: {
    command: 'token list',
    view: 'object',
    table: {
      ...{ token_id: 'TOKEN', agent_id: 'ACTS AS', operations: 'MAY', namespaces: 'WHERE' },
      ...{ expires_at: 'EXPIRES', state: 'STATE', note: 'NOTE' },
    },
    examples: ['token list'],
  },
  run: async (call, { limit }) => {
    const { store } = call.services;
    const viewer = { ...call.caller.viewer, all: call.caller.viewer.all || call.caller.admin };
    const asked = { kind: 'find-records', viewer, now: call.now, limit } as const;
    const order = { by: 'created_at', descending: true } as const;
    const found = await store.query({ ...asked, of: mintedTokenKind.name, order });
    if (!found.ok) return failed(found.error);
    const minted = rowsOf(mintedTokenKind, found.value);
    const revoked = await revokedAmong(call, minted);
    if (!revoked.ok) return failed(revoked.error);
    const tokens = minted.map((token) => {
      const { revocation_id: id, operations, namespaces, ...rest } = token;
      const state = revoked.value.has(id) ? 'revoked' : rest.expires_at <= call.now ? 'expired' : 'valid';
      return {
        ...rest,
        operations: operations.split(' '),
        namespaces: namespaces.split(' '),
        state,
      } as const;
    });
    const more = found.value.next === null ? {} : { truncated: true as const };
    return ok({ tokens, count: tokens.length, ...more });
  },
});

async function revokedAmong(call: ReadCall, minted: readonly MintedToken[]): Promise<Result<Set<string>>> {
  const where = { id: { in: minted.map(({ revocation_id }) => revocation_id) } };
  const asked = { kind: 'find-records', of: tokenRevocationKind.name, where, limit: LISTED_MAX } as const;
  const found = await call.services.store.query({ ...asked, viewer: null, now: call.now });
  if (!found.ok) return failed(found.error);
  return ok(new Set(rowsOf(tokenRevocationKind, found.value).map(({ revocation_id }) => revocation_id)));
}

/** Makes a token void on every node that hears of it, and with it all tokens that were narrowed from it. */
export const tokenRevoke = defineOperation({
  name: 'token_revoke',
  family: 'governance',
  summary: 'Revoke a token, and every token that was narrowed from it, on all nodes.',
  input: z.object({
    token_id: z
      .string()
      .regex(/^[0-9a-f]{32}([0-9a-f]{96})?$/, 'must be the token_id of token_list, or a whole revocation id')
      .describe('Its token_id, as the list says it')
      .optional(),
    token: z.string().describe('The token itself: who has it may revoke it').optional(),
    all: z.boolean().default(false).describe('Every token that this node minted; only for admins'),
  }),
  output: z.object({
    revoked: z.literal(true),
    token_id: z.string().nullable(),
    revoked_at: z.string(),
    before: z.boolean().describe('True when it was revoked already'),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-key' },
  delegable: 'never',
  screens: 'nothing',
  http: [{ method: 'POST', path: '/tokens/revoke', fields: 'body' }],
  mcp: {
    description:
      'Revoke one of your access tokens by its token_id: it stops counting everywhere, with all tokens made from it.',
    omit: ['token', 'all'],
  },
  cli: {
    command: 'token revoke',
    positionals: ['token_id'],
    secrets: ['token'],
    view: 'message',
    message: ({ token_id, before }) =>
      `${before === true ? 'was revoked already' : 'revoked'}: ${token_id ?? 'every token of this node'}`,
    examples: ['token revoke 5f0c2a…', 'token revoke --token file:helper.token'],
  },
  run: async (call, { token_id, token, all }) => {
    if ([token_id, token, all ? true : undefined].filter((given) => given !== undefined).length !== 1) {
      return fail('VALIDATION_FAILED', 'give a token_id, or the token, or all', { fields: ['token_id'] });
    }
    if (all) return revokeAll(call);
    const { store } = call.services;
    const held = token === undefined ? ok(null) : await revocationIdOf(call, token);
    if (!held.ok) return failed(held.error);
    const { viewer, admin, agentId: by } = call.caller;
    const revoked = await store.execute({
      kind: 'revoke-token',
      ...{ id: held.value ?? token_id!, held: held.value !== null, by },
      viewer: { ...viewer, all: viewer.all || admin },
    });
    if (!revoked.ok) return failed(revoked.error);
    const { tokenId, revokedAt, before } = revoked.value;
    return ok({ revoked: true as const, token_id: tokenId, revoked_at: revokedAt, before });
  },
});

/** The revocation id of a token that a node of this mesh signed. */
async function revocationIdOf(call: ReadCall, text: string): Promise<Result<string>> {
  const { verifyToken } = await import('../../identity/tokens.js');
  const roots = await call.services.store.query({ kind: 'token-roots' });
  if (!roots.ok) return failed(roots.error);
  const token = await verifyToken(text.trim(), roots.value.roots);
  return token.ok ? ok(token.value.revocationIds.at(-1)!) : failed(token.error);
}

async function revokeAll(call: Call) {
  const { caller, services } = call;
  if (!(caller.admin || (caller.local && caller.viewer.all))) {
    return fail('ADMIN_REQUIRED', 'only an admin revokes all tokens of a node');
  }
  const { destroyTokenSigner, keyIdOf, loadTokenSigner } = await import('../../identity/token-root.js');
  const signer = loadTokenSigner(services.settings.keyDir);
  const revoked = { revoked: true as const, token_id: null, revoked_at: call.now };
  if (signer === null) return ok({ ...revoked, before: true });
  const id = rootId({ peer_id: services.peerId, key_id: keyIdOf(signer.publicKey, services.crypto) });
  const dropped = await services.store.execute({ kind: 'drop-token-root', id, by: caller.agentId });
  if (!dropped.ok) return failed(dropped.error);
  // The record goes first: without the key nothing could say any more which record was its own.
  destroyTokenSigner(services.settings.keyDir);
  return ok({ ...revoked, before: !dropped.value.dropped });
}
