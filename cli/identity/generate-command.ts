import { newSeed } from '../../node/identity/key-file.js';
import { installSeed } from '../../node/identity/key-files.js';
import { failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { keyAnswer } from './key-answer.js';
import { agentFlag, agentOf, changeOf, FORCE_FLAG, KEY_DIR_FLAG } from './key-target.js';

/** Makes a key pair for an agent (reference-mcp-cli §2.2). */
export const generateCommand = defineCommand({
  name: 'identity generate',
  summary: 'Make an Ed25519 key pair for an agent.',
  flags: [agentFlag('Agent that the key is for'), FORCE_FLAG, KEY_DIR_FLAG],
  examples: ['identity generate --agent-id ai:writer', 'identity generate --agent-id ai:writer --force'],
  run: async (parsed, terminal) => {
    const agentId = agentOf(parsed);
    if (!agentId.ok) return failed(agentId.error);
    const key = installSeed(changeOf(parsed, agentId.value), newSeed());
    if (!key.ok) return failed(key.error);
    await terminal.print(keyAnswer(parsed, 'generated', agentId.value, key.value, true));
    return ok(0);
  },
});
