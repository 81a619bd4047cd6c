import { type KeyChange, keyLabelProblem } from '../../node/identity/key-files.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, settingsFor } from '../global-flags.js';

export const KEY_DIR_FLAG: DocumentedFlag = {
  name: 'key-dir',
  kind: 'value',
  value: 'path',
  path: 'folder',
  doc: 'Folder of the key files (SVC_KEY_DIR); default keys in the home',
};

export const FORCE_FLAG: DocumentedFlag = {
  name: 'force',
  kind: 'switch',
  doc: 'Replace an existing key: its public key is kept as <id>.pub.<seconds>, its private key is destroyed',
};

export const agentFlag = (doc: string): DocumentedFlag => ({
  name: 'agent-id',
  kind: 'value',
  value: 'id',
  required: true,
  doc,
});

/** The key folder that the flags name, or the configured one. */
export function keyDirOf(parsed: ParsedArguments): string {
  const keyDir = flagValue(parsed, 'key-dir');
  return settingsFor(parsed, keyDir === undefined ? {} : { keyDir }).keyDir;
}

/** The agent that the flags name. VALIDATION_FAILED when it cannot have a key. */
export function agentOf(parsed: ParsedArguments): Result<string> {
  const agentId = flagValue(parsed, 'agent-id') as string;
  const problem = keyLabelProblem(agentId);
  return problem === null ? ok(agentId) : fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
}

/** A change of the key of an agent. */
export function changeOf(parsed: ParsedArguments, agentId: string): KeyChange {
  return {
    keyDir: keyDirOf(parsed),
    agentId,
    force: flagValue(parsed, 'force') === 'true',
    nowMs: systemClock.nowMs(),
    random: systemRandom,
  };
}
