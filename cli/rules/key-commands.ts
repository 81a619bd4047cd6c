import { dirname } from 'node:path';
import {
  createFile,
  destroySeed,
  newSeed,
  openKeyFolder,
  replaceFile,
  signerOf,
} from '../../node/identity/key-file.js';
import { systemRandom } from '../../node/seams.js';
import { publicKeyText } from '../../protocol/base/key-text.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import { listRules } from '../../protocol/rules/list-rules.js';
import { ruleKind } from '../../protocol/rules/rule-kind.js';
import { SEED_IDS } from '../../protocol/rules/seed-rules.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { KEY_DIR_FLAG } from '../identity/key-target.js';
import {
  asOperator,
  KEY_FLAG,
  now,
  operatorKeyPath,
  operatorSigner,
  printAnswer,
  signedRule,
} from './rule-parts.js';

/** The operator's key is readable only by its owner, and not writable. */
const OPERATOR_KEY_MODE = 0o400;

/** Makes the key pair with which the operator signs rules. */
export const keygenCommand = defineCommand({
  name: 'rules keygen',
  summary: "Make the operator's key pair, which signs rules.",
  flags: [
    {
      name: 'out',
      kind: 'value',
      value: 'path',
      path: 'file',
      doc: 'File of the private key; default operator.key in the key folder',
    },
    { name: 'force', kind: 'switch', doc: 'Replace an existing key, which is destroyed' },
    KEY_DIR_FLAG,
  ],
  examples: ['rules keygen', 'rules keygen --out /media/stick/operator.key'],
  run: async (parsed, terminal) => {
    const path = operatorKeyPath(parsed, 'out');
    openKeyFolder(dirname(path));
    const seed = newSeed();
    if (isSet(parsed, 'force')) {
      destroySeed(path, () => replaceFile(path, seed, OPERATOR_KEY_MODE, systemRandom));
    } else if (!createFile(path, seed, OPERATOR_KEY_MODE, systemRandom)) {
      return fail('CONFLICT', `${path} exists: use --force to replace the key`);
    }
    const key = publicKeyText(signerOf(seed).publicKey);
    const next = `set SVC_OPERATOR_PUBKEY=${key}, or [governance] operator_pubkey; then only signed rules count`;
    await printAnswer(parsed, terminal, { generated: true, public_key: key, path, next });
    return ok(0);
  },
});

/** Signs the rules that `governance install-defaults` has installed, as they are. */
export const signSeedCommand = defineCommand({
  name: 'rules sign-seed',
  summary: `Sign the installed default rules (${SEED_IDS[0]} to ${SEED_IDS.at(-1)}) as they are.`,
  flags: [KEY_FLAG, KEY_DIR_FLAG],
  examples: ['rules sign-seed', 'rules sign-seed --key /media/stick/operator.key'],
  run: async (parsed, terminal) => {
    const signer = operatorSigner(parsed);
    if (!signer.ok) return failed(signer.error);
    return asOperator(parsed, async ({ store }, { agentId: by }) => {
      const found = await store.query(listRules(null));
      if (!found.ok) return failed(found.error);
      const seeds = rowsOf(ruleKind, found.value).filter(({ rule_id }) => SEED_IDS.includes(rule_id));
      if (seeds.length === 0) {
        return fail('NOT_FOUND', 'no default rule is installed: run "mnemesh governance install-defaults"');
      }
      for (const seed of seeds) {
        const rule = signedRule({ ...seed, updated_at: now() }, signer.value);
        const put = await store.execute({ kind: 'put-rule', rule, replaces: seed.updated_at, by });
        if (!put.ok) return failed(put.error);
      }
      await printAnswer(parsed, terminal, { signed: seeds.map(({ rule_id }) => rule_id) });
      return ok(0);
    });
  },
});
