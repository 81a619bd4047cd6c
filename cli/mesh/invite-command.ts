import { Invites } from '../../node/mesh/forming/invites.js';
import { formatToken } from '../../node/mesh/forming/join-token.js';
import { INVITE_TTL_SECONDS_MAX, NAMESPACE_LENGTH_MAX } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { ageSeconds, instantFromMs } from '../../protocol/base/time.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { formingParts, requireMesh } from './mesh-parts.js';

/** Prints a token with which one node may join. */
export const inviteCommand = defineCommand({
  name: 'mesh invite',
  summary: 'Print a token with which one more node can join the mesh, once.',
  flags: [
    {
      name: 'ttl',
      kind: 'value',
      value: 'time',
      doc: 'How long it is valid, such as 30m, 12h or 7d (default 1h)',
    },
    {
      name: 'namespaces',
      kind: 'value',
      value: 'globs',
      doc: 'Namespaces that the node may hold: * is one segment, a final ** any rest (default all)',
    },
  ],
  examples: [
    'mesh invite',
    'mesh invite --ttl 10m --namespaces "team/**,public/*"',
    'mesh invite | ssh node2 mnemesh mesh join -',
  ],
  run: async (parsed, terminal) => {
    const parts = formingParts(parsed);
    const facts = requireMesh(parts.folder);
    if (!facts.ok) return failed(facts.error);
    if (!parts.folder.isAuthority) {
      return fail('FORBIDDEN', 'only the node that made the mesh can invite: run this command there');
    }
    const { url, mesh_id } = facts.value;
    if (url === null) return fail('CONFLICT', 'this node has no address at which other nodes could reach it');
    const terms = termsOf(parsed);
    if (!terms.ok) return failed(terms.error);
    const { seconds, namespaces } = terms.value;
    const { secret, expiresAtMs } = new Invites(parts.folder, parts).create(seconds, namespaces);
    const token = formatToken({ url, meshId: mesh_id, secret });
    const expires = instantFromMs(expiresAtMs);
    if (isSet(parsed, 'json')) {
      const answer = { token, url, mesh_id, expires_at: expires, allowed_namespaces: namespaces };
      await terminal.print(`${JSON.stringify(answer)}\n`);
      return ok(0);
    }
    await terminal.print(`${token}\n`);
    await terminal.complain(
      `\nValid once, until ${expires}. Any node with this token can join: keep it secret. On the new node:\n` +
        '  mnemesh mesh join <token>       (or "mesh join -", which reads it from standard input)\n',
    );
    return ok(0);
  },
});

const DEFAULT_TTL = '1h';

function termsOf(parsed: ParsedArguments): Result<{ seconds: number; namespaces: readonly string[] | null }> {
  const seconds = ageSeconds(flagValue(parsed, 'ttl') ?? DEFAULT_TTL);
  if (seconds === null || seconds < 1 || seconds > INVITE_TTL_SECONDS_MAX) {
    return fail('VALIDATION_FAILED', '--ttl must be a time such as 30m, 12h or 7d, at most 7d', {
      fields: ['ttl'],
    });
  }
  const text = flagValue(parsed, 'namespaces');
  if (text === undefined) return ok({ seconds, namespaces: null });
  const namespaces = text
    .split(',')
    .map((glob) => glob.trim())
    .filter((glob) => glob !== '');
  const wrong = namespaces.length === 0 || namespaces.some((glob) => !isGlob(glob));
  if (wrong || namespaces.length > 100) {
    return fail('VALIDATION_FAILED', '--namespaces must list patterns such as team/** or public/*', {
      fields: ['namespaces'],
    });
  }
  return ok({ seconds, namespaces });
}

/** Segments without white space; `*` for one, `**` at the end for the rest. */
const isGlob = (glob: string) =>
  glob.length <= NAMESPACE_LENGTH_MAX &&
  glob
    .split('/')
    .every((part, index, all) =>
      part === '**' ? index === all.length - 1 : part === '*' || /^[^\s*\\]+$/.test(part),
    );
