import { TokenGate } from '../../node/http/token-gate.js';
import { TOKEN_OPERATIONS, type TokenOperation } from '../../node/identity/token-text.js';
import { narrowToken, type ReadToken, readToken, tokenFacts } from '../../node/identity/tokens.js';
import { systemClock, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { withinProblem } from '../../protocol/base/within.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { secretFrom } from '../operation-input.js';
import type { Terminal } from '../terminal.js';

const TOKEN = {
  name: 'token',
  required: false,
  doc: 'Where the token is: - for standard input (the default), env:<variable> or file:<path>',
} as const;

const tokenOf = ({ positionals }: ParsedArguments) =>
  secretFrom(positionals[0] ?? '-', '<token>', process.stdin);

/** Narrows a token; no node is asked. */
export const narrowCommand = defineCommand({
  name: 'token narrow',
  summary: 'Print a token that permits less than another one; needs no node and no key.',
  flags: [
    {
      name: 'operations',
      kind: 'value',
      value: 'words',
      doc: 'What is left of read, write, admin; separated by commas',
    },
    {
      ...{ name: 'namespaces', kind: 'value', value: 'patterns' },
      doc: 'Where it is left: namespaces, or team/** for one and all below it; separated by commas',
    },
    { name: 'expires-secs', kind: 'value', value: 'number', doc: 'Seconds from now until it expires' },
    { name: 'not-before', kind: 'value', value: 'instant', doc: 'When it begins to count, RFC 3339' },
  ],
  positionals: [TOKEN],
  examples: [
    "token narrow file:helper.token --namespaces 'team/docs/**' --operations read --expires-secs 600",
  ],
  run: async (parsed, terminal) => {
    const narrowing = narrowingOf(parsed);
    if (!narrowing.ok) return failed(narrowing.error);
    const token = await tokenOf(parsed);
    if (!token.ok) return failed(token.error);
    const narrowed = await narrowToken(token.value.trim(), narrowing.value);
    if (!narrowed.ok) return failed(narrowed.error);
    await terminal.print(
      isSet(parsed, 'json') ? `${JSON.stringify({ token: narrowed.value })}\n` : `${narrowed.value}\n`,
    );
    return ok(0);
  },
});

/** Shows what a token says; no node is asked. */
export const inspectCommand = defineCommand({
  name: 'token inspect',
  summary: 'Show what a token permits; only "token verify" says whether it counts.',
  positionals: [TOKEN],
  examples: ['token inspect file:helper.token', 'token inspect - < helper.token'],
  run: async (parsed, terminal) => {
    const token = await tokenOf(parsed);
    if (!token.ok) return failed(token.error);
    const said = await readToken(token.value.trim());
    return said.ok ? show(said.value, parsed, terminal) : failed(said.error);
  },
});

/** Says whether a token counts: on this home, or under the public key that is given. */
export const verifyCommand = defineCommand({
  name: 'token verify',
  summary: 'Say whether a token counts here: its signatures, its time, and whether it was revoked.',
  flags: [
    {
      ...{ name: 'root', kind: 'value', value: 'key' },
      doc: 'Public key of the node that minted it, 64 hex digits, for a machine without a node: a revocation is then not seen',
    },
  ],
  positionals: [TOKEN],
  examples: ['token verify file:helper.token', 'token verify - --root 9ea1b934… < helper.token'],
  run: async (parsed, terminal) => {
    const token = await tokenOf(parsed);
    if (!token.ok) return failed(token.error);
    const text = token.value.trim();
    const root = flagValue(parsed, 'root');
    if (root === undefined) {
      return withLocalNode(parsed, async (services) => {
        const opened = await new TokenGate(services, systemScheduler).open(text);
        return opened.ok ? show(opened.value.token, parsed, terminal) : failed(opened.error);
      });
    }
    const said = await readToken(text);
    if (!said.ok) return failed(said.error);
    if (said.value.publicKey !== root.toLowerCase())
      return fail('TOKEN_INVALID', 'another key signed this token');
    const nowS = systemClock.nowMs() / 1000;
    if (nowS >= said.value.expiresS) return fail('TOKEN_EXPIRED', 'the token has expired');
    if (nowS < said.value.notBeforeS) return fail('TOKEN_EXPIRED', 'the token is not valid yet');
    return show(said.value, parsed, terminal);
  },
});

async function show(token: ReadToken, parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const said = tokenFacts(token);
  const rows = Object.entries(said).map(
    ([name, value]) => `${name}: ${[value].flat().join(' ') || 'none'}\n`,
  );
  await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(said)}\n` : rows.join(''));
  return ok(0);
}

function narrowingOf(parsed: ParsedArguments) {
  const wrong = (flag: string, why: string) =>
    fail('VALIDATION_FAILED', `--${flag}: ${why}`, { fields: [flag.replaceAll('-', '_')] });
  const words = (flag: string) =>
    parsed.flags
      .get(flag)
      ?.flatMap((value) => value.split(','))
      .map((word) => word.trim());
  const operations = words('operations');
  const unknown = operations?.find((word) => !(TOKEN_OPERATIONS as readonly string[]).includes(word));
  if (unknown !== undefined)
    return wrong('operations', `"${unknown}" is not one of ${TOKEN_OPERATIONS.join(', ')}`);
  const namespaces = words('namespaces');
  const problem = namespaces?.map(withinProblem).find((each) => each !== null);
  if (problem !== undefined) return wrong('namespaces', problem);
  const secs = flagValue(parsed, 'expires-secs');
  if (secs !== undefined && !/^[1-9]\d{0,8}$/.test(secs))
    return wrong('expires-secs', 'must be a number of seconds');
  const since = flagValue(parsed, 'not-before');
  const sinceMs = since === undefined ? null : parseRfc3339Ms(since);
  if (since !== undefined && sinceMs === null) return wrong('not-before', 'must be an instant, RFC 3339');
  if ((operations ?? namespaces ?? secs ?? since) === undefined) {
    return fail(
      'VALIDATION_FAILED',
      'say what to take away: --operations, --namespaces, --expires-secs or --not-before',
    );
  }
  return ok({
    operations: operations as readonly TokenOperation[] | undefined,
    namespaces,
    expiresS: secs === undefined ? undefined : Math.floor(systemClock.nowMs() / 1000) + Number(secs),
    notBeforeS: sinceMs === null ? undefined : Math.ceil(sinceMs / 1000),
  });
}
