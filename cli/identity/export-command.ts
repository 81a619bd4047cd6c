import { publicKeyOf } from '../../node/identity/key-files.js';
import { MACHINE_LABEL } from '../../node/identity/machine-key.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { flagValue } from '../global-flags.js';
import { agentFlag, agentOf, KEY_DIR_FLAG, keyDirOf } from './key-target.js';

const FORMATS = ['base64url', 'base64', 'hex', 'raw'] as const;

/** Prints a public key, by default as `agents bind-key` takes it: URL-safe base64 without padding. */
export const exportCommand = defineCommand({
  name: 'identity export-pub',
  summary: 'Print the public key of an agent, or of this machine (daemon).',
  flags: [
    agentFlag('Agent whose key it is, or daemon'),
    {
      name: 'format',
      kind: 'value',
      value: FORMATS.join('|'),
      choices: FORMATS,
      doc: 'Encoding of the key (default base64url)',
    },
    KEY_DIR_FLAG,
  ],
  examples: [
    'identity export-pub --agent-id ai:writer',
    'identity export-pub --agent-id daemon --format raw > node.pub',
  ],
  run: async (parsed, terminal) => {
    const named = flagValue(parsed, 'agent-id');
    const agentId = named === MACHINE_LABEL ? ok(named) : agentOf(parsed);
    if (!agentId.ok) return failed(agentId.error);
    const format = FORMATS.find((known) => known === flagValue(parsed, 'format')) ?? 'base64url';
    const json = parsed.flags.has('json');
    if (json && format === 'raw')
      return fail('INVALID_ARGUMENT', '--format raw and --json cannot be combined');
    const key = publicKeyOf(keyDirOf(parsed), agentId.value);
    if (key === null) return fail('NOT_FOUND', `there is no key for ${agentId.value}`);
    if (format === 'raw') {
      await terminal.write(key);
      return ok(0);
    }
    const text = Buffer.from(key).toString(format);
    await terminal.print(
      json ? `${JSON.stringify({ agent_id: agentId.value, public_key: text, format })}\n` : `${text}\n`,
    );
    return ok(0);
  },
});
